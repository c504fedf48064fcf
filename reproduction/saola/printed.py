"""The figures printed in the tables of Yu, Wu, Ding, Pei (2016), by the number of the table.

Names also say which figures these are, if a table has several kinds. Tables that Friedman's test
needs are complete; the others have the sets that are available here.
"""

from __future__ import annotations

# by set and method; a method that failed on a set is left out there
Printed = dict[str, dict[str, float]]


def _parse(text: str) -> Printed:
    """Read a table from text: a line of methods, then a line for every set."""
    header, *lines = (line.split() for line in text.strip().splitlines())
    return {
        name: {
            method: float(value)
            for method, value in zip(header, values, strict=True)
            if value != "-"
        }
        for name, *values in lines
    }


PRINTED: dict[str, Printed] = {
    "III": _parse("""
        SAOLA Fast-OSFS alpha-investing OFS
        dexter 0.8133 0.8200 0.5000 0.5667
        lung-cancer 0.9500 0.9000 0.8333 0.8667
        hiva 0.9661 0.9635 0.9635 0.9635
        breast-cancer 0.7917 0.8854 0.7187 0.8333
        leukemia 0.9583 0.9583 0.6667 0.9583
        madelon 0.6083 0.6100 0.6067 0.6367
        ohsumed 0.9437 0.9450 0.9331 0.9431
        apcj-etiology 0.9872 0.9868 0.9828 0.9872
        dorothea 0.9343 0.9371 0.9343 0.9371
        thrombin 0.9613 0.9595 0.9613 0.9374
        news20 0.8276 - - 0.7332
        url1 0.9744 - - 0.9720
        kdd10 0.8723 - - 0.8577
        webspam 0.9611 - - 0.9689
    """),
    "IV": _parse("""
        SAOLA Fast-OSFS alpha-investing OFS
        dexter 0.7600 0.7800 0.5000 0.5400
        lung-cancer 0.9833 0.9667 0.9167 0.8500
        hiva 0.9635 0.9635 0.9531 0.9661
        breast-cancer 0.8646 0.8542 0.6875 0.6979
        leukemia 0.9167 0.7917 0.6250 0.8750
        madelon 0.5617 0.5283 0.5767 0.6433
        ohsumed 0.9275 0.9306 0.9325 0.9431
        apcj-etiology 0.9793 0.9702 0.9851 0.9872
        dorothea 0.9200 0.9457 0.7400 0.9086
        thrombin 0.9374 0.9300 0.9371 0.9411
        news20 0.7755 - - 0.6884
        url1 0.9627 - - 0.9607
        kdd10 0.8780 - - 0.7755
        webspam 0.9532 - - 0.9516
    """),
    "V": _parse("""
        SAOLA Fast-OSFS alpha-investing OFS
        dexter 0.8500 0.8100 0.5000 0.5000
        lung-cancer 0.9833 0.9500 0.9167 0.7833
        hiva 0.9635 0.9635 0.9635 0.9635
        breast-cancer 0.8750 0.8854 0.7188 0.7812
        leukemia 0.9583 0.7500 0.6667 0.8333
        madelon 0.6217 0.6227 0.6383 0.6117
        ohsumed 0.9431 0.9438 0.9431 0.9431
        apcj-etiology 0.9872 0.9872 0.9872 0.9872
        dorothea 0.9286 0.9371 0.9086 0.9029
        thrombin 0.9116 0.9116 0.9153 0.9245
        news20 0.8721 - - 0.4993
        url1 0.9645 - - 0.9681
        kdd10 0.8727 - - 0.8852
        webspam 0.9123 - - 0.8897
    """),
    "VI": _parse("""
        SAOLA Fast-OSFS alpha-investing OFS
        dexter 21 9 1 85
        leukemia 17 5 2 45
        madelon 3 3 4 65
    """),
    "VII": _parse("""
        SAOLA Fast-OSFS alpha-investing OFS
        dexter 3 4 6 1
        leukemia 2 2 1 0.1
        madelon 0.1 0.1 0.1 0.1
    """),
    "VIII": _parse("""
        SAOLA Fast-OSFS alpha-investing
        dexter 0.8088 0.8033 0.5000
        lung-cancer 0.9407 0.9286 0.8298
        hiva 0.5349 0.5229 0.5326
        breast-cancer 0.8111 0.7996 0.5303
        leukemia 0.9404 0.8811 0.6543
        madelon 0.5972 0.5883 0.6072
        ohsumed 0.5559 0.6244 0.5503
        apcj-etiology 0.5256 0.5250 0.4987
        dorothea 0.7297 0.8219 0.6453
        thrombin 0.7849 0.7913 0.8026
    """),
    "IX": _parse("""
        SAOLA Fast-OSFS alpha-investing OFS
        covtype 13 15324 48 8846
    """),
    "X": _parse("""
        SAOLA FCBF SPSF-LAR GDM
        dexter 0.8133 0.8567 0.8700 0.9100
        lung-cancer 0.9500 0.9500 0.9833 0.9833
        hiva 0.9661 0.9661 0.9635 0.9661
        breast-cancer 0.7917 0.8125 0.8958 0.4792
        leukemia 0.9583 0.9583 0.9583 1.0000
        madelon 0.6083 0.6067 0.6183 0.5833
        ohsumed 0.9437 0.9444 0.9431 0.9438
        apcj-etiology 0.9872 0.9866 0.9872 0.9879
        dorothea 0.9343 0.9314 0.9029 0.9371
        thrombin 0.9613 0.9576 0.9558 0.7300
        news20 0.8276 - - 0.7354
        url1 0.9744 - - 0.9765
        kdd10 0.8723 - - 0.8779
        webspam 0.9611 - - 0.9617
    """),
    "XI": _parse("""
        SAOLA FCBF SPSF-LAR GDM
        dexter 0.7600 0.7967 0.7233 0.9100
        lung-cancer 0.9833 0.9500 0.9833 0.9833
        hiva 0.9635 0.9609 0.9635 0.9661
        breast-cancer 0.8646 0.8333 0.8229 0.4792
        leukemia 0.9167 1.0000 1.0000 1.0000
        madelon 0.5617 0.5767 0.5633 0.5833
        ohsumed 0.9275 0.9300 0.9113 0.9438
        apcj-etiology 0.9793 0.9826 0.9803 0.9879
        dorothea 0.9200 0.9200 0.8857 0.9371
        thrombin 0.9374 0.9429 0.9650 0.7300
        news20 0.7755 - - 0.7354
        url1 0.9627 - - 0.9765
        kdd10 0.8780 - - 0.8779
        webspam 0.9532 - - 0.9617
    """),
    "XII": _parse("""
        SAOLA FCBF SPSF-LAR GDM
        dexter 0.8500 0.5400 0.6400 0.9100
        lung-cancer 0.9833 0.9800 0.9833 0.9833
        hiva 0.9635 0.9635 0.9635 0.9661
        breast-cancer 0.8750 0.8750 0.8854 0.4792
        leukemia 0.9583 0.9167 0.9167 1.0000
        madelon 0.6217 0.5933 0.7900 0.5833
        ohsumed 0.9431 0.9431 0.9431 0.9438
        apcj-etiology 0.9872 0.9872 0.9872 0.9879
        dorothea 0.9286 0.9171 0.9029 0.9371
        thrombin 0.9116 0.9116 0.9153 0.7300
        news20 0.8721 - - 0.7354
        url1 0.9645 - - 0.9765
        kdd10 0.8727 - - 0.8779
        webspam 0.9123 - - 0.9617
    """),
    "XIII": _parse("""
        SAOLA FCBF SPSF-LAR
        dexter 0.8088 0.7311 0.7611
        lung-cancer 0.9407 0.9475 0.9639
        hiva 0.5349 0.5347 0.5335
        breast-cancer 0.8111 0.8120 0.8466
        leukemia 0.9404 0.9737 0.9737
        madelon 0.5972 0.5962 0.7537
        ohsumed 0.5559 0.5741 0.5613
        apcj-etiology 0.5256 0.5473 0.4987
        dorothea 0.7297 0.6775 0.7218
        thrombin 0.7849 0.7938 0.8382
    """),
    "XIV accuracy": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 0.6600 0.5600 0.6000 0.6700
        dexter 0.8500 0.5400 0.7600 0.8467
    """),
    "XIV AUC": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 0.6526 0.5000 0.5917 0.6664
        dexter 0.8500 0.5400 0.7600 0.8467
    """),
    "XV accuracy": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 0.6900 0.5900 0.5800 0.6200
        dexter 0.7600 0.7967 0.6600 0.8233
    """),
    "XV AUC": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 0.6867 0.5804 0.5714 0.6096
        dexter 0.7600 0.7967 0.6600 0.8233
    """),
    "XVI accuracy": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 0.5600 0.5500 0.5800 0.6000
        dexter 0.8133 0.8567 0.7833 0.8767
    """),
    "XVI AUC": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 0.5463 0.5252 0.5714 0.5966
        dexter 0.8133 0.8567 0.7833 0.8767
    """),
    "XVII features": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 22 31 3 5
        dexter 21 55 4 11
    """),
    "XVII seconds": _parse("""
        SAOLA FCBF IAMB MMMB
        arcene 3 3 5 12
        dexter 3 5 38 74
    """),
    "XVIII KNN": _parse("""
        SAOLA SAOLA-max
        dexter 0.7600 0.8000
        lung-cancer 0.9833 0.9500
        hiva 0.9635 0.9505
        breast-cancer 0.8646 0.8854
        leukemia 0.9167 1.0000
        madelon 0.5617 0.5617
        ohsumed 0.9275 0.9256
        apcj-etiology 0.9793 0.9807
        dorothea 0.9200 0.9171
        thrombin 0.9374 0.9484
        news20 0.7755 0.7592
        url1 0.9627 0.9732
        kdd2010 0.8780 0.8766
        webspam 0.9532 0.9546
    """),
    "XVIII J48": _parse("""
        SAOLA SAOLA-max
        dexter 0.8133 0.8300
        lung-cancer 0.9500 0.9500
        hiva 0.9661 0.9557
        breast-cancer 0.7917 0.8125
        leukemia 0.9583 0.9583
        madelon 0.6083 0.6083
        ohsumed 0.9437 0.9437
        apcj-etiology 0.9872 0.9870
        dorothea 0.9343 0.9257
        thrombin 0.9613 0.9503
        news20 0.8276 0.8295
        url1 0.9744 0.9761
        kdd2010 0.8723 0.8751
        webspam 0.9611 0.9635
    """),
    "XVIII SVM": _parse("""
        SAOLA SAOLA-max
        dexter 0.8500 0.8800
        lung-cancer 0.9833 1.0000
        hiva 0.9635 0.9635
        breast-cancer 0.8750 0.8645
        leukemia 0.9583 0.8750
        madelon 0.6217 0.6217
        ohsumed 0.9431 0.9431
        apcj-etiology 0.9872 0.9872
        dorothea 0.9286 0.9029
        thrombin 0.9116 0.9153
        news20 0.8721 0.4993
        url1 0.9645 0.9614
        kdd2010 0.8727 0.8727
        webspam 0.9123 0.8798
    """),
    "XIX seconds": _parse("""
        SAOLA SAOLA-max
        dexter 3 3
        leukemia 2 4
        madelon 0.1 0.1
    """),
    "XIX features": _parse("""
        SAOLA SAOLA-max
        dexter 21 39
        leukemia 17 70
        madelon 3 3
    """),
    "XXI KNN": {"madelon": {"SAOLA": 0.5617, "SAOLA, alpha 0.05": 0.5717}},
    "XXI J48": {"madelon": {"SAOLA": 0.6083, "SAOLA, alpha 0.05": 0.5416}},
    "XXII J48": _parse("""
        group-SAOLA OGFS SGLasso
        dexter 0.8427 0.5556 0.8800
        lung-cancer 0.9500 0.9017 0.9833
        hiva 0.9661 0.9602 0.9609
        breast-cancer 0.6656 0.6000 0.6667
        leukemia 0.9583 0.7292 0.9583
        madelon 0.6117 0.5153 0.6533
        ohsumed 0.9439 0.9430 0.9431
        apcj-etiology 0.9872 0.9872 0.9872
        dorothea 0.9365 0.9029 0.9314
        thrombin 0.9591 0.9396 0.9558
        news20 0.8188 0.5303 -
        url1 0.9715 0.6333 -
        kdd10 0.8714 0.8787 -
        webspam 0.9341 0.7620 -
    """),
    "XXII KNN": _parse("""
        group-SAOLA OGFS SGLasso
        dexter 0.7947 0.5487 0.7067
        lung-cancer 0.9584 0.9167 0.9333
        hiva 0.9630 0.9471 0.9479
        breast-cancer 0.6531 0.6385 0.6667
        leukemia 0.9833 0.7792 1.0000
        madelon 0.5317 0.4922 0.5967
        ohsumed 0.9052 0.9142 0.9431
        apcj-etiology 0.9788 0.9790 0.9818
        dorothea 0.9183 0.8691 0.9143
        thrombin 0.9376 0.9420 0.9632
        news20 0.7501 0.5058 -
        url1 0.9553 0.6089 -
        kdd10 0.8764 0.8758 -
        webspam 0.9376 0.9376 -
    """),
    "XXIII seconds": _parse("""
        group-SAOLA OGFS
        dexter 2 4
        leukemia 3 1
        madelon 0.1 0.1
    """),
    "XXIII features": _parse("""
        group-SAOLA OGFS
        dexter 21 72
        leukemia 16 66
        madelon 2 15
    """),
    "XXIII groups": _parse("""
        group-SAOLA OGFS
        dexter 19 49
        leukemia 14 47
        madelon 2 13
    """),
}
