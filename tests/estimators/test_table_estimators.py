"""Test estimators on tables with text, categories, truth values and dates."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

import streamsieve as ss
from streamsieve.blocks import columns_of, dense_block
from streamsieve.registry import merge_models
from streamsieve.sources.frames import encode_frame

RANDOM = np.random.default_rng(7)
ROWS = 120
FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 80, ROWS),
        "town": RANDOM.choice(["Ulm", "Bonn", "Köln"], ROWS),
        "member": RANDOM.random(ROWS) < 0.5,
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RANDOM.integers(0, 900, ROWS), "D"),
        "plan": pd.Categorical(RANDOM.choice(["a", "b"], ROWS)),
    }
)
CHURN = ((FRAME["town"] == "Ulm") | FRAME["member"]).astype(int).to_numpy()


@pytest.fixture(scope="module")
def model() -> ss.SOFS:
    return ss.SOFS(4).fit(FRAME, CHURN)


def test_table_is_learned_and_predicted_with_columns_in_any_order(model):
    assert model.n_features_in_ == 8
    assert model.feature_names_in_[:3].tolist() == ["age", "member", "since"]
    assert model.get_support().size == 8
    reversed_frame = FRAME[FRAME.columns[::-1]]
    table = pa.Table.from_pandas(reversed_frame, preserve_index=False)
    for other in (reversed_frame, pl.from_arrow(table), table, reversed_frame.assign(more="text")):
        assert np.array_equal(model.predict(other), model.predict(FRAME))
    assert model.score(FRAME, CHURN) > 0.9


def test_transform_gives_the_selected_features(model):
    selected = model.transform(FRAME)
    names = model.get_feature_names_out().tolist()
    assert isinstance(selected, np.ndarray)
    assert selected.shape == (ROWS, 4)
    assert np.array_equal(selected[:, names.index("town=Ulm")], FRAME["town"] == "Ulm")


@pytest.mark.parametrize("estimator", [ss.SOFS, ss.PET, ss.OGD])
def test_standardised_tables_with_text_are_predicted_and_learned_in_any_form(estimator):
    model = estimator(4, normalize="standard").fit(FRAME, CHURN)
    matrix = encode_frame(FRAME, model.learner.features.encoding, "", known=True)
    encoded = pd.DataFrame(matrix.toarray(), columns=model.feature_names_in_)
    expected = model.decision_function(FRAME)
    assert np.array_equal(model.decision_function(encoded), expected)
    score = model.learner.results.predictor().score
    assert np.array_equal(score(dense_block(matrix.toarray(), None)), expected)
    assert np.array_equal(model.partial_fit(encoded, CHURN).predict(encoded), model.predict(FRAME))


def test_chunks_are_learned_as_the_first_of_them_shows(model, caplog):
    parts = ss.SOFS(4).partial_fit(FRAME[:60], CHURN[:60], classes=[0, 1])
    parts.partial_fit(FRAME[FRAME.columns[::-1]][60:], CHURN[60:])
    assert np.array_equal(parts.predict(FRAME), model.predict(FRAME))
    with caplog.at_level(logging.WARNING, "streamsieve"):
        parts.predict(FRAME.assign(town="Rom"))
    assert "column 'town' has levels that are not in the training data, such as" in caplog.text


def test_what_is_wrong_with_a_table_names_its_column(model):
    with_missing = FRAME.copy()
    with_missing.loc[5, "town"] = None
    with pytest.raises(ss.DataError, match="row 6: column 'town' has no value"):
        ss.SOFS(4).fit(with_missing, CHURN)
    with pytest.raises(ss.DataError, match="there is no column 'town'"):
        model.predict(FRAME.drop(columns="town"))
    with pytest.raises(
        ss.DataError, match=r"column 'age' holds .* values, not numbers; convert it to its type"
    ):
        model.predict(FRAME.assign(age="old"))
    with pytest.raises(ValueError, match="Input X contains NaN: column 'b', row 1"):
        ss.SOFS(4).fit(pd.DataFrame({"a": CHURN, "b": [np.nan, *[1.0] * (ROWS - 1)]}), CHURN)
    with pytest.raises(ss.DataError, match="column 'm' holds values of several types"):
        ss.SOFS(4).fit(FRAME.assign(m=[1, "x"] * (ROWS // 2)), CHURN)


def test_failed_chunk_leaves_the_model_as_it_was(model):
    parts = ss.SOFS(4).partial_fit(FRAME, CHURN, classes=[0, 1])
    before = parts.predict(FRAME)
    with pytest.raises(ValueError, match="inconsistent"):
        parts.partial_fit(FRAME[:10], CHURN[:9])
    assert np.array_equal(parts.predict(FRAME), before)


@pytest.mark.parametrize(
    "estimator", [ss.SAOLA(), ss.GroupSAOLA(), ss.ReliefF(n_features_to_select=2)]
)
def test_methods_of_columns_and_of_the_matrix_take_tables_and_are_saved(estimator, tmp_path):
    names = estimator.fit(FRAME, CHURN).get_feature_names_out().tolist()
    assert {"town=Ulm", "member"} <= set(names)
    estimator.save(tmp_path / "model")
    loaded = ss.load(tmp_path / "model")
    assert loaded.get_feature_names_out().tolist() == names
    assert loaded.selection().names.tolist() == names
    assert loaded.feature_names_in_.tolist() == estimator.feature_names_in_.tolist()
    assert np.array_equal(loaded.transform(FRAME), estimator.transform(FRAME))


@pytest.mark.parametrize(
    "estimator",
    [ss.SOFS(2), ss.SAOLA(), ss.OnlineSubstitution(2), ss.LocalLearning(n_features_to_select=2)],
)
def test_dates_and_truth_values_are_learned_without_text_beside_them(estimator, tmp_path):
    frame = FRAME[["age", "member", "since"]]
    from_memory = estimator.fit(frame, CHURN).selection()
    selected = estimator.transform(frame)
    frame.assign(y=CHURN).to_parquet(tmp_path / "t.parquet")
    from_file = estimator.fit_source(ss.open_source(tmp_path / "t.parquet", "y")).selection()
    assert from_memory.names.tolist() == from_file.names.tolist()
    assert selected.dtype == np.float64
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(frame)
        assert scores.dtype == np.float64
        days = frame["since"].to_numpy().astype("datetime64[D]").astype(float)
        assert np.array_equal(estimator.decision_function(frame.assign(since=days)), scores)


@pytest.mark.parametrize("estimator", [ss.SOFS(1), ss.OFSPartial(1, random_state=1)])
def test_missing_numbers_of_a_table_are_filled_in_as_in_the_training(estimator):
    frame = FRAME[["age", "member"]].astype({"age": float})
    frame.loc[3, "age"] = np.nan
    source = ss.open_source((frame, CHURN), missing="mean")
    estimator.fit_source(source)
    filled = frame.fillna({"age": frame["age"].mean()})
    assert np.array_equal(estimator.decision_function(frame), estimator.decision_function(filled))
    assert np.array_equal(estimator.transform(frame), estimator.transform(filled))


def test_columns_of_text_that_the_training_omitted_are_not_read(tmp_path):
    numbers = FRAME.select_dtypes("number")
    frame = numbers.fillna(0).assign(note=[f"text {row % 3}" for row in range(len(FRAME))])
    y = np.arange(len(frame)) % 2
    source = ss.open_source((frame, y), strings="drop")
    ss.OGD(2).fit_source(source).save(tmp_path / "model")
    model = ss.load(tmp_path / "model")
    assert np.array_equal(model.predict(frame), model.predict(frame.drop(columns="note")))


def test_encoded_table_is_read_as_numbers(model):
    encoded = pd.get_dummies(FRAME, columns=["town", "plan"], prefix_sep="=")[
        model.feature_names_in_
    ]
    encoded["since"] = encoded["since"].to_numpy().astype("datetime64[D]").astype(float)
    assert np.array_equal(model.decision_function(encoded), model.decision_function(FRAME))
    assert np.array_equal(model.transform(encoded), model.transform(FRAME))
    assert model.transform(encoded).dtype == np.float64


@pytest.mark.parametrize("size", [10, 33, 64])
def test_values_that_first_appear_in_later_chunks_are_learned(size):
    town = np.where(np.arange(ROWS) < 70, FRAME["town"], np.where(CHURN == 1, "Trier", "Mainz"))
    frame = FRAME.assign(town=town)
    whole, parts = ss.SOFS(4).fit(frame, CHURN), ss.SOFS(4)
    for start in range(0, ROWS, size):
        rows = slice(start, start + size)
        parts.partial_fit(frame[rows], CHURN[rows], classes=[0, 1])
    assert "town=Trier" in whole.get_feature_names_out()
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    assert parts.feature_names_in_.tolist() == whole.feature_names_in_.tolist()
    assert np.array_equal(parts.decision_function(frame), whole.decision_function(frame))


def test_names_pass_through_a_column_transformer_and_a_pipeline():
    columns = ["town", "plan", "age"]
    chosen = ColumnTransformer([("kept", ss.SOFS(2), columns)], verbose_feature_names_out=False)
    names = chosen.fit(FRAME, CHURN).get_feature_names_out().tolist()
    assert names == chosen.named_transformers_["kept"].get_feature_names_out().tolist()
    assert "town=Ulm" in names
    pipeline = make_pipeline(ss.SOFS(2)).fit(FRAME, CHURN)
    assert (
        pipeline.get_feature_names_out(list(FRAME.columns)).tolist()
        == pipeline[-1].get_feature_names_out().tolist()
    )
    with pytest.raises(ValueError, match="input_features"):
        pipeline.get_feature_names_out(["town", "other"])


def test_numbers_alone_have_no_encoding():
    frame = pd.DataFrame({"a": CHURN * 1.0, "b": np.arange(ROWS)})
    learned = ss.SOFS(1).fit(frame, CHURN)
    assert learned.learner.features.encoding is None
    assert learned.get_feature_names_out().tolist() == ["a"]


def test_models_that_read_tables_in_other_ways_are_not_merged(model):
    other = ss.SOFS(4).fit(FRAME.assign(town=FRAME["town"].str.upper()), CHURN)
    with pytest.raises(ss.UsageError, match="encodes the columns of tables differently"):
        merge_models(model.model(), [other.model(), other.model()])


def test_features_that_the_table_does_not_have_are_refused_before_they_are_learned():
    columns = ss.SAOLA().fit(FRAME, CHURN)
    new_column = columns_of(np.ones((ROWS, 1)), ids=np.array([columns.n_features_in_]))
    with pytest.raises(
        ss.DataError, match=r"feature \d+ is not in the table that was learned.*give one table"
    ):
        columns.partial_fit_block(new_column)
    assert ss.SAOLA.method.load(columns.model()).results.n_features_in_ == columns.n_features_in_


@pytest.mark.parametrize(
    "estimator", [ss.SAOLA(), ss.MRMR(1), ss.OnlineSubstitution(1), ss.SOFS(1)]
)
def test_what_was_learned_from_named_numbers_is_saved(estimator, tmp_path):
    frame = pd.DataFrame({"a": CHURN * 1.0, "b": np.arange(ROWS)})
    estimator.fit(frame, CHURN).save(tmp_path / "model")
    loaded = ss.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    assert loaded.selection().names.tolist() == ["a"]


def test_columns_may_come_after_those_of_a_frame(tmp_path):
    columns = ss.SAOLA().fit(pd.DataFrame({"a": CHURN * 1.0, "b": np.arange(ROWS)}), CHURN)
    columns.partial_fit_block(
        columns_of(np.ones((ROWS, 1)), ids=np.array([2]), names=np.array(["c"], object))
    )
    columns.save(tmp_path / "model")
    loaded = ss.load(tmp_path / "model")
    assert (loaded.n_features_in_, loaded.selection().names.tolist()) == (3, ["a"])
