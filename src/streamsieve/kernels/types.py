"""Types of the arrays that kernels take, and unsigned indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

F64: TypeAlias = NDArray[np.float64]
F32: TypeAlias = NDArray[np.float32]
I64: TypeAlias = NDArray[np.int64]
I32: TypeAlias = NDArray[np.int32]
I8: TypeAlias = NDArray[np.int8]
U32: TypeAlias = NDArray[np.uint32]
U64: TypeAlias = NDArray[np.uint64]
U8: TypeAlias = NDArray[np.uint8]
Bool: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = F32 | F64
Ints: TypeAlias = I32 | I64

# converts to an unsigned index, which cannot count from the end and needs no test for it
unsigned = cast(Callable[[int], int], np.uintp)
