"""A first day with streamsieve: the users' own tables, words, logs, genes and streams."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline

import streamsieve as ss
from streamsieve.cli import main
from tests import warm
from tests.paths import DATA, ROOT
from tests.waiting import wait_for

WORDS = ROOT / "examples" / "data" / "baseball_hockey"


def say(*words: Any, code: int = 0) -> None:
    """Run a command in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    assert end.value.code == code, words


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.err + captured.out


def customers(n_rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """Return a realistic table: text, categories, booleans, dates, missing values, an id."""
    random = np.random.default_rng(seed)
    city = random.choice(["Bern", "Oslo", "Rome"], n_rows)
    active = random.random(n_rows) < 0.5
    since = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 700, n_rows), unit="D")
    spent = random.normal(100, 20, n_rows)
    churn = np.where((city == "Oslo") | (spent + 30 * active < 95), "yes", "no")
    return pd.DataFrame(
        {
            "customer_id": np.arange(1, n_rows + 1),
            "city": pd.Categorical(city),
            "active": active,
            "since": since,
            "spent": np.where(random.random(n_rows) < 0.05, np.nan, spent),
            **{f"noise{i}": random.normal(size=n_rows) for i in range(10)},
            "churn": churn,
        }
    )


def test_a_data_frame_with_text_truth_values_dates_and_missing_values() -> None:
    table = customers().drop(columns="customer_id")
    X, y = table.drop(columns="churn"), table["churn"]
    with pytest.raises(ss.DataError, match=r"'spent'"):
        ss.SOFS(4).fit(X, y)
    filled = X.assign(spent=X["spent"].fillna(X["spent"].mean()))
    selector = ss.SOFS(4).fit(filled, y)
    assert {"city=Oslo", "spent", "active"} <= set(selector.selection().names)
    assert selector.score(filled[filled.columns[::-1]], y) > 0.9  # columns in another order
    assert list(selector.get_feature_names_out()) == list(selector.selection().names)
    record = ss.select((X, y), "sofs", 4, missing="mean")
    assert {"city=Oslo", "spent", "active"} <= set(record.selection.names)
    assert list(record.selection.to_frame().columns)[:2] == ["index", "name"]


def test_a_csv_with_an_id_column_and_three_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = customers(900)
    table["churn"] = np.where(table["city"] == "Rome", "maybe", table["churn"])
    table[:600].to_csv(tmp_path / "train.csv", index=False)
    table[600:].to_csv(tmp_path / "test.csv", index=False)
    table[600:].drop(columns="churn").to_csv(tmp_path / "new.csv", index=False)
    say("info", tmp_path / "train.csv", "--target", "churn", "--missing", "mean")
    assert "customer_id" in printed(capsys)
    select = (
        "select",
        tmp_path / "train.csv",
        "--target",
        "churn",
        "-k",
        "6",
        "--test",
        tmp_path / "test.csv",
    )
    say(*select, code=1)
    assert re.search(r"'spent'.*--missing", printed(capsys))
    say(*select, "--missing", "mean", "--drop", "customer_id", "-o", tmp_path / "run", "--json")
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert result["test_accuracy"] > 0.85
    assert {"city=Oslo", "city=Rome"} <= set(result["names"])
    say("predict", tmp_path / "run", tmp_path / "new.csv", "-o", tmp_path / "labels.txt")
    labels = (tmp_path / "labels.txt").read_text().split()
    assert accuracy_score(table["churn"][600:], labels) == pytest.approx(result["test_accuracy"])


def test_words_of_a_vectorizer() -> None:
    texts = ["the pitcher threw to the batter", "the goalie stopped the puck"] * 40
    labels = ["baseball", "hockey"] * 40
    steps = make_pipeline(TfidfVectorizer(), ss.SOFS(4)).fit(texts, labels)
    assert set(steps.get_feature_names_out()) < {
        "pitcher",
        "threw",
        "to",
        "batter",
        "goalie",
        "stopped",
        "puck",
    }
    assert steps.predict(["a puck", "a batter"]).tolist() == ["hockey", "baseball"]


def test_words_of_a_vocabulary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, test, names = f"{WORDS}.train.svm.xz", f"{WORDS}.test.svm.xz", f"{WORDS}.names.txt.xz"
    say("select", train, "-k", "20", "--names", names, "--test", test, "-o", tmp_path / "run")
    assert "hockey" in printed(capsys)
    with (tmp_path / "run" / "selection.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {"feature", "index", "score"} <= set(lines[0])
    assert "hockey" in {line["feature"] for line in lines}
    say("apply", tmp_path / "run", test, "-o", tmp_path / "reduced.csv")
    assert '"hockey"' in (tmp_path / "reduced.csv").read_text().splitlines()[0].split(",")


def test_ids_on_screen_are_those_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.svm").write_text("".join(f"{label} 7:{label} 9:1\n" for label in (1, -1) * 50))
    say("select", tmp_path / "a.svm", "-k", "1", "-o", tmp_path / "run")
    with (tmp_path / "run" / "selection.csv").open() as file:
        (line,) = csv.DictReader(file)
    assert (line["feature"], line["index"]) == ("7", "6")
    say("select", "--resume", tmp_path / "run", "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["selected"] == [6]


def test_a_click_log_with_kill_and_resume(tmp_path: Path) -> None:
    log = tmp_path / "clicks.svm"
    say("generate", "clicks", "-o", log, "--rows", "60000")
    begin = [*warm.streamsieve("select", log), "-k", "50", "--checkpoint-every", "5000", "-o"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        [*begin, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: (killed / "checkpoint").exists() or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run(warm.streamsieve("select", "--resume", killed), check=True, capture_output=True)
    subprocess.run([*begin, str(whole)], check=True, capture_output=True)
    assert (killed / "selection.csv").read_bytes() == (whole / "selection.csv").read_bytes()


def test_genes_with_named_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    genes = DATA / "leukemia.svm.xz"
    pathways = tmp_path / "pathways.tsv"
    pathways.write_text("".join(f"{gene}\tpathway {gene % 97}\n" for gene in range(1, 7130)))
    say(
        "select", genes, "-m", "group-saola", "--groups", pathways, "-o", tmp_path / "run", "--json"
    )
    result = json.loads(capsys.readouterr().out)
    assert result["details"]["groups"] == [
        f"pathway {(index + 1) % 97}" for index in result["selected"]
    ]
    say("select", genes, "-m", "group-saola", "-k", "5")
    assert re.search(r"note: .*--groups", printed(capsys))


def test_dicts_one_at_a_time() -> None:
    from river import evaluate, metrics

    from streamsieve.compat.river import SelectorClassifier

    random = np.random.default_rng(0)
    rows = []
    for row in range(2_000):
        values = {f"sensor {i}": float(value) for i, value in enumerate(random.normal(size=20))}
        values |= {("new", row // 500): 1.0}  # a feature of any name, at any time
        rows.append((values, values["sensor 3"] + values["sensor 7"] > 0))
    model = SelectorClassifier(ss.SOFS(2))
    score = evaluate.progressive_val_score(iter(rows), model, metrics.Accuracy())
    assert score.get() > 0.9


FILES = ["svm", "svm.gz", "csv", "tsv", "parquet", "arrow", "npz"]


@pytest.mark.parametrize("suffix", FILES)
def test_predictions_of_reduced_files_are_those_of_the_whole(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, test = tmp_path / "run", f"{WORDS}.test.svm.xz"
    say(
        "select", f"{WORDS}.train.svm.xz", "-k", "30", "--names", f"{WORDS}.names.txt.xz", "-o", run
    )
    say("predict", run, test, "-o", tmp_path / "whole.txt")
    say("apply", run, test, "-o", tmp_path / f"reduced.{suffix}")
    capsys.readouterr()
    say("predict", run, tmp_path / f"reduced.{suffix}", "-o", tmp_path / "reduced.txt")
    assert "accuracy 89." in printed(capsys)
    assert (tmp_path / "whole.txt").read_text() == (tmp_path / "reduced.txt").read_text()
