"""Test groups of features: their forms, features in any order, and the results."""

from __future__ import annotations

import csv
import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csc_array, csr_array

import streamsieve as ss
from streamsieve import workflow
from streamsieve.blocks import ColumnBlock, columns_of
from streamsieve.distributed.driving import train_on
from streamsieve.engine_choice import EngineChoice
from streamsieve.model import Model
from streamsieve.registry import find_method
from streamsieve.sources import columns
from streamsieve.sources.base import ColumnBlockSource
from streamsieve.sources.columns import OrderedColumns
from streamsieve.sources.groups import Features, parse_groups, read_groups
from streamsieve.training import train

METHODS: list[tuple[type[Any], dict[str, Any]]] = [
    (ss.GroupSAOLA, {}),
    (ss.OGFS, {"regularization": 0.05}),
]
NAMES = np.array(["stroma", "immune", "cycle", "repair", "other"], dtype=object)


@pytest.fixture(scope="module")
def genes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, and the number of the group of every column, unordered."""
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 120)
    X = random.standard_normal((120, 24)) * (random.random((120, 24)) < 0.7)
    X[:, [1, 6, 11, 18, 20]] += y[:, None] * np.array([1.5, 1.0, 0.8, 1.2, 0.6])
    groups = random.integers(0, 5, 24)
    assert (np.diff(np.sort(groups)) <= 1).all()
    assert not np.array_equal(groups, np.sort(groups))
    return X, y, groups


def by_first(groups: np.ndarray) -> np.ndarray:
    """Return columns sorted by group, groups in the order of their first column, by slow code."""
    order: list[int] = []
    for group in groups.tolist():
        if group not in [groups[column] for column in order]:
            order += [column for column in range(groups.size) if groups[column] == group]
    return np.array(order)


def chosen(selection: ss.Selection) -> list[tuple[int, float, Any]]:
    assert selection.groups is not None
    return sorted(
        zip(
            selection.indices.tolist(),
            selection.scores.tolist(),
            selection.groups.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize(("estimator", "params"), METHODS)
@pytest.mark.parametrize("form", [np.asarray, csc_array, csr_array])
def test_groups_in_any_order_select_as_sorted_columns_do(genes, estimator, params, form) -> None:
    X, y, groups = genes
    order = by_first(groups)
    expected = estimator(**params).fit(X[:, order], y, groups=groups[order]).selection()
    selection = estimator(**params).fit(form(X), y, groups=groups).selection()
    assert len(selection) > 1
    assert chosen(selection) == [
        (feature, score, groups[feature])
        for feature, score in sorted(
            zip(order[expected.indices].tolist(), expected.scores.tolist(), strict=True)
        )
    ]
    named = estimator(**params).fit(form(X), y, groups=NAMES[groups].tolist()).selection()
    assert chosen(named) == [
        (feature, score, NAMES[group]) for feature, score, group in chosen(selection)
    ]


@pytest.mark.parametrize("memory", [1 << 40, 40_000, 1])
def test_columns_that_do_not_fit_are_read_again(genes, monkeypatch, memory) -> None:
    X, _, groups = genes
    monkeypatch.setattr(columns, "available_memory", lambda: memory)
    source = ColumnBlockSource(
        [columns_of(X[:, at : at + 5], at) for at in range(0, 24, 5)], genes[1], n_features=24
    )
    order = by_first(groups)
    blocks = list(OrderedColumns(source, order).column_blocks())
    assert np.concatenate([block.ids for block in blocks]).tolist() == order.tolist()
    joined = ColumnBlock.joined(blocks)
    dense = csc_array((joined.values, joined.indices, joined.indptr), shape=X.shape).toarray()
    np.testing.assert_array_equal(dense, X[:, order])
    shards = OrderedColumns(source, order).column_shards(3)
    ids = [block.ids for shard in shards for block in shard.column_blocks()]
    assert np.concatenate(ids).tolist() == order.tolist()


def test_columns_of_ids_beyond_the_order_are_omitted(genes) -> None:
    X, y, _ = genes
    source = ColumnBlockSource([columns_of(X)], y)
    (block,) = OrderedColumns(source, np.array([7, 2])).column_blocks()
    assert block.ids.tolist() == [7, 2]


# ---- what is given


@pytest.fixture(scope="module")
def files(genes, tmp_path_factory) -> Path:
    """Write the rows as svmlight, as tables and as a file of columns, and files of their groups."""
    X, y, groups = genes
    folder = tmp_path_factory.mktemp("genes")
    lines = [
        f"{label} " + " ".join(f"{at + 1}:{value:.6g}" for at, value in enumerate(row) if value)
        for row, label in zip(X, y, strict=True)
    ]
    (folder / "genes.svm").write_text("\n".join(lines) + "\n")
    titles = [f"gene{at}" for at in range(24)]
    table = [",".join([*titles, "y"])] + [
        ",".join([*map("{:.6g}".format, row), str(label)]) for row, label in zip(X, y, strict=True)
    ]
    (folder / "genes.csv").write_text("\n".join(table) + "\n")
    pq.write_table(pa.table([*X.T, y], [*titles, "y"]), folder / "genes.parquet")
    workflow.convert_to_columns(folder / "genes.csv", folder / "columns.parquet", target="y")
    names = NAMES[groups]
    (folder / "in_order.txt").write_text("# pathways\n\n" + "\n".join(names) + "\n")
    with gzip.open(folder / "by_name.tsv.gz", "wt") as file:
        file.write(
            "Feature\tGroup\n" + "".join(f"gene{at}\t{names[at]}\n" for at in range(23, -1, -1))
        )
    with lzma.open(folder / "by_id.tsv.xz", "wt") as file:
        file.write("".join(f"{at + 1}\t{names[at]}\r\n" for at in range(24)))
    return folder


@pytest.mark.parametrize(
    ("data", "groups"),
    [
        ("genes.svm", "in_order.txt"),
        ("genes.svm", "by_id.tsv.xz"),
        ("genes.csv", "in_order.txt"),
        ("genes.csv", "by_name.tsv.gz"),
        ("genes.parquet", "by_name.tsv.gz"),
        ("columns.parquet", "by_name.tsv.gz"),
    ],
)
def test_a_file_of_groups_is_by_order_name_or_id(
    files: Path, genes, data: str, groups: str
) -> None:
    X, y, numbers = genes
    expected = (
        ss.GroupSAOLA().fit(X.astype(np.float32), y, groups=NAMES[numbers].tolist()).selection()
    )
    target = None if data in ("genes.svm", "columns.parquet") else "y"
    record = workflow.select(files / data, "group-saola", groups=files / groups, target=target)
    assert record.selection.indices.tolist() == expected.indices.tolist()
    assert record.selection.groups is not None
    assert record.selection.groups.tolist() == NAMES[numbers[expected.indices]].tolist()


def test_groups_by_id_within_a_limit_of_memory(files: Path) -> None:
    free = workflow.select(
        files / "genes.svm", "group-saola", groups=files / "by_id.tsv.xz"
    ).selection
    limited = workflow.select(
        files / "genes.svm", "group-saola", groups=files / "by_id.tsv.xz", memory="16GB"
    ).selection
    assert chosen(limited) == chosen(free)


def test_groups_in_any_order_on_several_workers(genes) -> None:
    X, y, groups = genes
    source, order = ss.sources.open_source((X, y)), by_first(groups)
    in_order = ss.sources.open_source((X[:, order], y))
    learner, sorted_learner = find_method("group-saola").make(), find_method("group-saola").make()
    train_on(EngineChoice("local", 2), learner, source, groups=NAMES[groups].tolist())
    train_on(EngineChoice("local", 2), sorted_learner, in_order, groups=groups[order].tolist())
    expected = sorted(order[sorted_learner.results.selection().indices].tolist())
    assert learner.results.selection().indices.tolist() == expected
    assert learner.results.selection().groups.tolist() == NAMES[groups[expected]].tolist()


def test_a_dictionary_has_names_or_indices(files: Path, genes) -> None:
    numbers = genes[2]
    by_index = {at: NAMES[group] for at, group in enumerate(numbers)}
    by_name = {f"gene{at}": int(group) for at, group in enumerate(numbers)}
    source = ss.open_source(files / "genes.csv", target="y")
    named = ss.GroupSAOLA().fit_source(source, groups=by_index).selection()
    numbered = ss.GroupSAOLA().fit_source(source, groups=by_name).selection()
    assert named.indices.tolist() == numbered.indices.tolist()
    assert named.groups is not None
    assert numbered.groups is not None
    assert named.groups.tolist() == NAMES[numbered.groups].tolist()


def test_named_groups_are_in_every_form_of_the_result(files: Path, tmp_path: Path) -> None:
    data, groups = files / "genes.svm", read_groups(files / "by_id.tsv.xz")
    record = workflow.select(
        data,
        "group-saola",
        groups=list(groups.groups),
        output=tmp_path / "run",
        checkpoint_every=5,
    )
    expected = record.selection.groups
    assert expected is not None
    assert {type(group) for group in expected.tolist()} == {str}
    assert record.to_dict()["details"]["groups"] == expected.tolist()
    with (tmp_path / "run" / "selection.csv").open() as file:
        assert sorted(line["group"] for line in csv.DictReader(file)) == sorted(expected.tolist())
    again = workflow.resume(tmp_path / "run")
    assert again.selection.groups is not None
    assert again.selection.groups.tolist() == expected.tolist()
    assert ss.load(tmp_path / "run" / "model").selection().groups.tolist() == expected.tolist()


@pytest.mark.parametrize(("estimator", "params"), METHODS)
def test_learning_goes_on_within_a_named_group(genes, tmp_path: Path, estimator, params) -> None:
    X, y, _ = genes
    names = [NAMES[at // 5] for at in range(24)]
    expected = estimator(**params).fit(X, y, groups=names).selection()
    first = estimator(**params).partial_fit_columns(X[:, :8], y, groups=names[:8])
    first.save(tmp_path / "model")
    other = ss.load(tmp_path / "model").partial_fit_columns(X[:, 8:], groups=names[8:])
    assert chosen(other.selection()) == chosen(expected)
    with pytest.raises(ss.DataError, match="integers before and names now, or the other way round"):
        other.partial_fit_columns(X[:, :1], groups=[7])


def test_named_groups_of_a_strange_model_are_checked(genes) -> None:
    X, y, groups = genes
    model = ss.GroupSAOLA().fit(X, y, groups=NAMES[groups].tolist()).model()
    for name, value in (
        ("named_groups", model.arrays["named_groups"][:-1]),
        ("named_groups", model.arrays["named_groups"] + 1),
        ("named_groups", model.arrays["named_groups"].astype(np.float64)),
        ("group_names.offsets", model.arrays["group_names.offsets"] * 0),
    ):
        bad = Model(model.method, model.params, model.header, {**model.arrays, name: value})
        with pytest.raises(ss.DataError, match="damaged"):
            find_method("group-saola").load(bad)


# ---- what is refused


def message(groups: Any, features: Features, exact: bool = True) -> str:
    with pytest.raises(ss.DataError) as caught:
        parse_groups(groups).over(features, "data", exact)
    return str(caught.value)


def test_features_that_are_not_there_are_named(tmp_path: Path) -> None:
    path = tmp_path / "groups.tsv"
    path.write_text("feature\tgroup\n1\ta\n2\ta\n3\tb\n4\tb\n")
    by_id = Features(4, first_id=0)
    assert message(path, by_id).startswith(
        f"{path}:5: there is no feature '4' in the data; the ids seem to start at 1 here,"
    )
    assert "the ids seem to start at 0 here, but they start at 1" in message(
        [["0", "a"], ["1", "a"]], Features(2, first_id=1)
    )
    assert message(path, Features(2, first_id=1)).endswith(
        ":4: there is no feature '3' in the data, whose ids go from 1 to 2"
    )
    assert "whose features have names, such as 'age'" in message(
        path, Features(2, np.array(["age", "sex"], object))
    )
    assert "whose features have no names, only ids from 1 on" in message(
        {"age": "a"}, Features(2, first_id=1)
    )
    assert "there is no feature 7 in the data" in message({7: "a"}, Features(2))
    assert "there is no feature -1 in the data" in message({-1: "a"}, Features(2))
    assert "appears twice" in message([["1", "a"], ["1", "b"]], Features(2))


def test_features_without_a_group_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "groups.tsv"
    path.write_text("1\ta\n3\tb\n")
    assert (
        message(path, Features(5, first_id=1))
        == f"{path}: 3 of 5 features have no group, the first is feature 2; give every feature a"
        " group"
    )
    names = np.array(["a", "b"], object)
    assert "1 of 2 features have no group, the first is 'b'" in message(
        {"a": 1}, Features(2, names)
    )
    assert message([1, 2], Features(3)) == "data: 2 groups for 3 features; give one for each"
    assert message([1, 2, 3, 4], Features(3)) == "data: 4 groups for 3 features; give one for each"
    assert parse_groups([1, 2, 3, 4]).over(Features(3), "data", exact=False).groups.tolist() == [
        1,
        2,
        3,
    ]
    assert "two features are called 'a'" in message(
        {"a": 1}, Features(2, np.array(["a", "a"], object))
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a\nb\tc\n", r":2: 'b\\tc' is not a group"),
        ("a\t1\nb\n", ":2: 'b' is not a feature, a tab and its group"),
        ("a\t1\t2\n", ":1: .* is not a group"),
        ("# nothing\n", "the file has no groups"),
    ],
)
def test_lines_that_say_nothing_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "groups").write_text(text)
    with pytest.raises(ss.DataError, match=complaint):
        read_groups(tmp_path / "groups")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "groups").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ss.DataError, match="not UTF-8 text"):
        read_groups(tmp_path / "groups")


@pytest.mark.parametrize(
    "groups", [{1.5: "a"}, {None: 1}, {True: 1}, [["a"]], [("a", 1, 2)], [[1, 2], [3, 4, 5]]]
)
def test_what_is_no_feature_is_refused(groups: Any) -> None:
    with pytest.raises(ss.DataError, match="groups: "):
        parse_groups(groups)


def test_a_stream_must_bring_groups_together(genes) -> None:
    X, y, groups = genes

    def stream() -> Iterator[ColumnBlock]:
        yield from (columns_of(X[:, at : at + 4], at) for at in range(0, 24, 4))

    together = np.sort(groups)
    selection = ss.GroupSAOLA().fit_source(stream(), y, groups=NAMES[together].tolist()).selection()
    assert chosen(selection) == chosen(
        ss.GroupSAOLA().fit(X, y, groups=NAMES[together].tolist()).selection()
    )
    with pytest.raises(
        ss.DataError,
        match="blocks: can be read only once, and group 'a' appears again at feature 3;",
    ):
        ss.GroupSAOLA().fit_source(stream(), y, groups=[*"aabacb", *"d" * 18])
    with pytest.raises(ss.DataError, match="can be read only once"):
        ss.GroupSAOLA().fit_source(stream(), y, groups={0: "a"})


def test_methods_without_groups_refuse_them(genes) -> None:
    X, y, groups = genes
    for call in (
        lambda: ss.SAOLA().fit(X, y, groups=groups),
        lambda: ss.SAOLA().fit_source([columns_of(X)], y, groups=groups),
        lambda: ss.SAOLA().partial_fit_columns(X, y, groups=groups),
    ):
        with pytest.raises(
            ss.UsageError, match="SAOLA does not support groups; use GroupSAOLA or OGFS"
        ):
            call()


def test_a_method_for_groups_says_if_there_are_none(genes) -> None:
    X, y, groups = genes

    def kinds(given: Any) -> list[str]:
        learner = find_method("group-saola").make()
        return [
            finding.kind
            for finding in train(learner, ss.sources.open_source((X, y)), groups=given).findings
        ]

    assert "no groups" in kinds(None)
    assert "no groups" in kinds([f"group{at}" for at in range(24)])
    assert "no groups" not in kinds(groups)
