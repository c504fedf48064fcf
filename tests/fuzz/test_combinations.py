"""Promises about single options hold of combinations of them, drawn at random."""

from __future__ import annotations

from itertools import count, islice, takewhile
from pathlib import Path

import pytest

from ..effort import FULL
from .combinations import combination_of, run

pytestmark = pytest.mark.needs_jit

AT_ONCE = 50
OPEN = {  # what is known to fail today, by cause
    "drop and only are applied again to reduced files, and to files with other ids": """
        4 9 20 24 49 59 75 107 109 120 131 155 184 190 201 212 215 226 227 266 269 271 277 286 302 313 315 322
        335 342 376 381 422 470 472 497 502 540 547 554 571 574 577 619 622 650 667 685 686 714 750 766 767 781
        799 850 862 869 880 883 885 896 902 903 908 909 917 946 967 973 983 1009 1011 1034 1038 1066 1071 1105
        1121 1130 1131 1142 1150 1185 1186 1191 1225 1228 1246 1253 1304 1327 1329 1353 1354 1363 1366 1370 1381
        1382 1385 1405 1409 1432 1437 1446 1463 1487 1508 1519 1531 1540 1544 1546 1556 1566 1574 1593 1594 1596
        1626 1654 1662 1665 1677 1700 1730 1733 1756 1768 1784 1800 1811 1812 1845 1870 1874 1894 1912 1928 1969
        1972 1991
    """,
    "a table in memory without text is taken for encoded: its dates are refused": """
        19 40 54 63 83 85 101 104 107 124 151 155 160 189 191 192 201 253 266 268 278 312 315 327 334 340 371
        400 407 424 432 438 446 450 470 478 489 490 491 501 504 519 550 557 558 562 566 582 676 685 706 710 734
        757 772 776 799 823 844 879 908 919 949 972 1005 1018 1021 1034 1037 1045 1086 1122 1132 1140 1147 1167
        1182 1204 1212 1226 1236 1237 1241 1277 1291 1316 1332 1352 1360 1381 1388 1396 1403 1411 1416 1429 1437
        1438 1477 1507 1509 1510 1513 1555 1592 1598 1609 1644 1652 1689 1713 1724 1740 1753 1772 1843 1853 1861
        1868 1877 1905 1920 1949 1951 1963 1971 1974
    """,
    "drop, only and names are ignored for a source that is open already": """
        19 88 109 120 184 188 216 255 277 304 316 338 369 375 426 438 470 532 535 536 558 563 577 591 685 686
        688 690 703 736 738 754 761 776 798 799 806 817 840 848 850 855 862 866 885 903 915 922 929 983 1036
        1071 1097 1131 1132 1225 1237 1279 1299 1304 1322 1366 1394 1412 1423 1424 1446 1450 1456 1495 1508 1535
        1542 1579 1594 1603 1631 1644 1687 1712 1713 1749 1752 1788 1799 1800 1825 1830 1833 1841 1858 1863 1864
        1886 1900 1914 1966 1986
    """,
    "a table in memory without text is taken for encoded: its missing values are not filled in": """
        30 53 75 76 129 134 152 181 215 220 233 316 372 398 463 483 549 620 650 667 686 732 761 775 808 839 884
        886 889 896 902 912 929 1013 1028 1065 1073 1087 1103 1128 1178 1194 1230 1258 1266 1275 1288 1312 1346
        1347 1362 1376 1414 1434 1442 1447 1486 1517 1526 1528 1542 1577 1621 1653 1661 1692 1714 1715 1741 1799
        1805 1812 1817 1859 1864 1889 1904 1911 1929 1942
    """,
    "drop and only by name fail where the names come from a file of names": """
        45 62 122 140 172 179 203 276 287 317 324 401 402 408 418 439 464 506 588 629 682 705 720 753 778 805
        809 828 875 887 905 913 920 923 950 966 968 990 1035 1039 1042 1044 1078 1110 1112 1126 1127 1149 1164
        1181 1282 1341 1375 1418 1452 1514 1570 1633 1655 1663 1680 1694 1717 1722 1732 1734 1745 1747 1804 1808
        1919 1930 1948 1952 1978 1997
    """,
    "select(names=[...]) is a TypeError": """
        52 56 115 210 232 242 252 345 410 448 461 486 513 603 610 615 634 643 672 700 782 811 812 845 851 928
        1003 1004 1053 1096 1109 1124 1250 1283 1386 1494 1693 1719 1820 1879 1962 1967 1989
    """,
    "predict does not read the dates that apply wrote as numbers": """
        26 101 104 205 249 400 438 478 489 504 676 706 879 1045 1101 1140 1182 1204 1226 1241 1352 1416 1429
        1438 1477 1498 1507 1509 1608 1617 1704 1770 1862 1951
    """,
    "strings and missing are ignored for a source that is open already": """
        98 112 136 199 207 516 567 697 732 739 878 1033 1057 1140 1144 1206 1346 1377 1387 1396 1415 1442 1473
        1609 1661 1772 1861 1862 1929
    """,
    "methods on rows and on the matrix lose the names in a file of columns": """
        456 457 465 524 607 666 759 762 936 1072 1089 1095 1221 1276 1290 1379 1440 1554 1560 1658 1898
    """,
    "apply writes ids from 1 for a run on ids from 0, and predict reads them from 0": """
        157 543 581 600 635 785 837 918 1076 1087 1470 1552 1587 1987
    """,
    "normalize='standard' on sparse rows does not predict the same rows as a table": """
        70 237 321 360 426 1043 1054 1145 1472 1647
    """,
    "apply refuses the missing values that a method skips": """
        262 337 349 428 508 955 1830
    """,
    "truth values learned from Parquet or Arrow are not read from CSV or TSV": """
        173 535 745
    """,
    "drop on a file of columns loses the names": """
        392
    """,
    "predict does not read what apply wrote of a run that selected nothing": """
        702
    """,
    "a model saved before the end of its warm-up loses that its rows are dense": """
        1733
    """,
}


def seeds() -> list[int]:
    """Return two thousand seeds or, in a short run, the first fifty whose combinations are quick."""
    known = {int(seed) for text in OPEN.values() for seed in text.split()}
    closed = (seed for seed in count() if seed not in known)
    if FULL:
        return list(takewhile(lambda seed: seed < 2000, closed))
    return list(islice((seed for seed in closed if combination_of(seed).is_quick), AT_ONCE))


@pytest.mark.parametrize("first", range(0, len(seeds()), AT_ONCE))
def test_combinations_of_options_keep_the_promises_made_of_each(first: int, tmp_path: Path) -> None:
    violations = []
    for seed in seeds()[first : first + AT_ONCE]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        violations += [
            f"seed {seed}: {combination_of(seed)}\n    {found}" for found in run(combination_of(seed), folder)
        ]
    assert not violations, "\n".join(violations)
