"""The paper of every method, as ``streamsieve methods NAME`` shows it; the methods' pages say more."""

from __future__ import annotations

_SOFS = (
    "Y. Wu, S. C. H. Hoi, T. Mei, N. Yu: Large-scale online feature selection for ultra-high dimensional sparse data. "
    "ACM Transactions on Knowledge Discovery from Data 11(4), 2017"
)
_OS = (
    "H. Yang, R. Fujimaki, Y. Kusumura, J. Liu: Online feature selection: a limited-memory substitution algorithm and "
    "its asynchronous parallel variation. 2016"
)
_SAOLA = (
    "K. Yu, X. Wu, W. Ding, J. Pei: Scalable and accurate online feature selection for big data. ACM Transactions on "
    "Knowledge Discovery from Data 11(2), 2016"
)
_OFS = (
    "J. Wang, P. Zhao, S. C. H. Hoi, R. Jin: Online feature selection and its applications. IEEE Transactions on "
    "Knowledge and Data Engineering 26(3), 2014"
)
_LOCAL = (
    "Y. Sun, S. Todorovic, S. Goodison: A feature selection algorithm capable of handling extremely large data "
    "dimensionality. SDM 2008"
)
_OSFS = (
    "X. Wu, K. Yu, W. Ding, H. Wang, X. Zhu: Online feature selection with streaming features. IEEE Transactions on "
    "Pattern Analysis and Machine Intelligence 35, 2013"
)
_AROW = "K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 2009"

PAPERS = {
    "sofs": _SOFS,
    "sofs-regressor": f"none for numbers; after {_SOFS}",
    "pet": f"{_SOFS}; {_OFS}",
    "fofs": _OFS,
    "ofs-partial": _OFS,
    "ogd": "M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent. ICML 2003",
    "fobos": (
        "J. Duchi, Y. Singer: Efficient online and batch learning using forward backward splitting. Journal of Machine "
        "Learning Research 10, 2009"
    ),
    "arow": _AROW,
    "arow-regressor": (
        "N. Vaits, K. Crammer: Re-adapting the regularization of weights for non-stationary regression. ALT 2011"
    ),
    "random-selection": _OFS,
    "saola": _SAOLA,
    "group-saola": _SAOLA,
    "ogfs": ("J. Wang, Z.-Q. Zhao, X. Hu, Y.-M. Cheung, M. Wang, X. Wu: Online group feature selection. IJCAI 2013"),
    "osfs": _OSFS,
    "fast-osfs": _OSFS,
    "fcbf": (
        "L. Yu, H. Liu: Feature selection for high-dimensional data: a fast correlation-based filter solution. ICML "
        "2003"
    ),
    "mrmr": (
        "H. Peng, F. Long, C. Ding: Feature selection based on mutual information. IEEE Transactions on Pattern "
        "Analysis and Machine Intelligence 27, 2005"
    ),
    "iamb": (
        "I. Tsamardinos, C. Aliferis, A. Statnikov: Algorithms for large scale Markov blanket discovery. FLAIRS 2003"
    ),
    "mmmb": (
        "I. Tsamardinos, C. Aliferis, A. Statnikov: Time and sample efficient discovery of Markov blankets and direct "
        "causal relations. KDD 2003"
    ),
    "alpha-investing": (
        "J. Zhou, D. P. Foster, R. A. Stine, L. H. Ungar: Streamwise feature selection. Journal of Machine Learning "
        "Research 7, 2006"
    ),
    "online-substitution": _OS,
    "asyos": _OS,
    "grafting": "S. Perkins, J. Theiler: Online feature selection using grafting. ICML 2003",
    "projected-gradient": (
        "T. Blumensath, M. E. Davies: Normalized iterative hard thresholding: guaranteed stability and performance. "
        "IEEE Journal of Selected Topics in Signal Processing 4, 2010; S. Foucart: Hard thresholding pursuit. SIAM "
        "Journal on Numerical Analysis 49, 2011"
    ),
    "local-learning": _LOCAL,
    "relieff": "I. Kononenko: Estimating attributes: analysis and extensions of RELIEF. ECML 1994",
    "irelief": (
        "Y. Sun: Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE Transactions on "
        "Pattern Analysis and Machine Intelligence 29(6), 2007"
    ),
}
