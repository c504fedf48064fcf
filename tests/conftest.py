"""Set-up that must come before the first import of SciPy, and paths the tests share."""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # lets scikit-learn's array API check run instead of skipping itself
