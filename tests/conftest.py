"""Set-up that must come before the first import of SciPy, and paths the tests share."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)  # the same streams in every run
settings.register_profile("explore")  # others every time: make test-full
settings.load_profile("steady")

os.environ["SCIPY_ARRAY_API"] = "1"  # lets scikit-learn's array API check run instead of skipping itself
