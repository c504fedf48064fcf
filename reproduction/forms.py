"""Define the methods as the papers have them: every parameter that differs from our default.

Parameters whose default may change later are set, too. SOFS: Wu, Hoi, Mei, Yu 2017. OFS, which is
FOFS here, the perceptron PE, the random choice RAND and partial inputs: Wang, Zhao, Hoi, Jin 2014.
"""

from __future__ import annotations

from typing import Any

Form = dict[str, Any]

# the rows as they are, with nothing added
AS_GIVEN: Form = {"normalize": False, "fit_intercept": False, "class_weight": None}
SOFS: Form = {**AS_GIVEN, "criterion": "confidence", "gamma": 1.0}
OFS: Form = {**AS_GIVEN, "eta": 0.2, "regularization": 0.01, "trigger": "margin"}
PE: Form = {**AS_GIVEN, "eta": 0.2, "trigger": "mistake"}
RAND: Form = PE
OFS_PARTIAL: Form = {**AS_GIVEN, "epsilon": 0.2, "eta": 0.2, "radius": 10, "trigger": "margin"}
