"""The figures printed in the tables of Wang, Zhao, Hoi, Jin (2014)."""

from __future__ import annotations

from ..beside import Figure

Figures = dict[str, Figure]  # by method


def figures(**pairs: tuple[float, float]) -> Figures:
    """Return figures by method, from pairs of a mean and a deviation."""
    return {method: Figure(*pair) for method, pair in pairs.items()}


TABLE_2: dict[str, Figures] = {
    "svmguide3": figures(RAND=(567.6, 17.3), PE=(512.2, 32.6), OFS=(400.9, 66.8)),
    "german": figures(RAND=(472.4, 11.1), PE=(489.6, 29.8), OFS=(432.8, 13.6)),
    "magic04": figures(RAND=(8689.8, 58.9), PE=(8153.1, 79.3), OFS=(6023.4, 1342.3)),
    "splice": figures(RAND=(1517.0, 25.7), PE=(1039.9, 35.0), OFS=(735.4, 68.3)),
    "a8a": figures(RAND=(15610.7, 78.8), PE=(14086.8, 300.4), OFS=(9424.4, 2545.8)),
    "20news_rec_sci": figures(RAND=(4379.6, 44.0), PE=(1343.1, 43.8), OFS=(943.81, 59.5)),
    "20news_comp_sci": figures(RAND=(4697.2, 44.8), PE=(1886.7, 60.1), OFS=(1725.5, 60.8)),
}
TABLE_3: dict[str, Figures] = {
    "svmguide3": figures(
        RAND=(1229.7, 5.2), PE=(1112.3, 11.4), OFS_rand=(1112.3, 16.9), OFS_P=(701.5, 42.5)
    ),
    "german": figures(
        RAND=(991.0, 3.4), PE=(918.3, 7.8), OFS_rand=(924.0, 8.4), OFS_P=(589.3, 33.9)
    ),
    "magic04": figures(
        RAND=(18908.3, 11.8), PE=(17939.6, 45.2), OFS_rand=(17948.7, 37.3), OFS_P=(10274.2, 172.1)
    ),
    "splice": figures(
        RAND=(3066.9, 8.1), PE=(2361.7, 29.1), OFS_rand=(2361.3, 26.9), OFS_P=(1418.1, 70.5)
    ),
    "a8a": figures(
        RAND=(30089.1, 43.0), PE=(21431.8, 653.6), OFS_rand=(21575.3, 728.3), OFS_P=(16931.0, 164.6)
    ),
    "20news_rec_sci": figures(
        RAND=(8889.3, 8.5), PE=(3134.0, 85.5), OFS_rand=(3176.3, 46.3), OFS_P=(2325.3, 62.0)
    ),
    "20news_comp_sci": figures(
        RAND=(9795.6, 2.5), PE=(3694.0, 67.8), OFS_rand=(3586.6, 26.8), OFS_P=(2639.3, 45.5)
    ),
}
TABLE_5: dict[float, Figures] = {  # by the fraction of features selected; mistake rates
    0.01: figures(RAND=(0.496, 0.061), PE=(0.406, 0.060), OFS=(0.362, 0.068)),
    0.02: figures(RAND=(0.485, 0.075), PE=(0.391, 0.048), OFS=(0.325, 0.053)),
    0.04: figures(RAND=(0.512, 0.050), PE=(0.366, 0.045), OFS=(0.337, 0.066)),
    0.08: figures(RAND=(0.496, 0.056), PE=(0.361, 0.046), OFS=(0.334, 0.053)),
    0.16: figures(RAND=(0.506, 0.075), PE=(0.375, 0.052), OFS=(0.341, 0.055)),
    0.32: figures(RAND=(0.508, 0.060), PE=(0.372, 0.035), OFS=(0.347, 0.055)),
    0.64: figures(RAND=(0.457, 0.046), PE=(0.391, 0.040), OFS=(0.350, 0.059)),
}
# online gradient descent on all features of colon, in the text beside table 5
ALL_FEATURES = Figure(0.354, 0.054)
CLASSIFIERS = ("OGD", "KNN")
# error rates, by the fraction of features and the classifier
TABLE_6: dict[float, dict[str, Figures]] = {
    0.005: {
        "OGD": figures(mRMR=(0.464, 0.146), OFS=(0.441, 0.088)),
        "KNN": figures(mRMR=(0.377, 0.066), OFS=(0.345, 0.097)),
    },
    0.01: {
        "OGD": figures(mRMR=(0.400, 0.055), OFS=(0.409, 0.127)),
        "KNN": figures(mRMR=(0.341, 0.094), OFS=(0.335, 0.107)),
    },
    0.02: {
        "OGD": figures(mRMR=(0.361, 0.067), OFS=(0.348, 0.062)),
        "KNN": figures(mRMR=(0.251, 0.042), OFS=(0.212, 0.097)),
    },
    0.04: {
        "OGD": figures(mRMR=(0.358, 0.075), OFS=(0.306, 0.065)),
        "KNN": figures(mRMR=(0.280, 0.088), OFS=(0.180, 0.120)),
    },
    0.08: {
        "OGD": figures(mRMR=(0.387, 0.076), OFS=(0.345, 0.057)),
        "KNN": figures(mRMR=(0.271, 0.055), OFS=(0.222, 0.068)),
    },
    0.16: {
        "OGD": figures(mRMR=(0.393, 0.083), OFS=(0.341, 0.066)),
        "KNN": figures(mRMR=(0.319, 0.068), OFS=(0.290, 0.068)),
    },
    0.32: {
        "OGD": figures(mRMR=(0.380, 0.058), OFS=(0.332, 0.050)),
        "KNN": figures(mRMR=(0.325, 0.110), OFS=(0.287, 0.105)),
    },
}
TABLE_9: dict[str, Figures] = {
    "codrna": figures(RAND=(128709.0, 284.2), PE=(119838.4, 165.8), OFS=(78685.8, 42.8)),
    "covtype": figures(RAND=(277394.5, 127.0), PE=(198661.6, 125.6), OFS=(148223.1, 193.0)),
}
