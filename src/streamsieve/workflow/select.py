"""Select features from data, and resume a run that was interrupted."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from ..continuing import open_to_continue
from ..distributed.driving import train_on
from ..engine_choice import EngineChoice
from ..errors import DataError, UsageError, spell
from ..evaluation.quality import Fit, Quality, Reliability
from ..json_text import finite, wrong_fields
from ..machine import available_memory, cores, is_limited, limited, peak_memory, scratch_folder
from ..recording import Recording
from ..registry import find_method, load_learner, make_learner, method_named
from ..runs import (
    CHECKPOINT,
    EarlierRun,
    RunDirectory,
    RunRecord,
    RunRequest,
    check_unchanged,
    fingerprint,
    location,
)
from ..runs.data import describe_data
from ..runs.record import NoteFields
from ..selectors.base import AnyLearner
from ..selectors.diagnosis import Finding, warn_about
from ..selectors.parameters import is_integer, parameters_of, to_builtin
from ..sources import open_with_options
from ..sources.base import ColumnSource, DataSource, Source, as_row_source
from ..sources.buckets import transposed
from ..sources.groups import parse_groups
from ..sources.labels import expect_classes
from ..sources.options import ReadOptions, document_options
from ..sources.wrapped import hold_out
from ..training import Checkpoint, Clock, Training, Watch, reporter, train, watching
from .apply import fit_of, measure_classes, predictions
from .feature_matching import open_test_rows
from .validation import as_request, refuse_options, with_skipping

if TYPE_CHECKING:
    from ..estimators import Estimator

FRACTION = 0.5  # of the rows, in every subsample (Meinshausen, Bühlmann 2010)

notes = logging.getLogger("streamsieve")


@document_options
def select(
    data: Any,
    method: str = "sofs",
    n_features_to_select: int | float | None = None,
    *,
    test: Any = None,
    classes: Any = None,
    groups: Any = None,
    seed: int | None = None,
    resamples: int | None = None,
    output: str | Path | None = None,
    checkpoint_every: int | None = None,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    memory: int | str | None = None,
    continue_from: str | Path | None = None,
    watch: Watch | None = None,
    progress: bool = False,
    **params: Any,
) -> RunRecord:
    """Select features from data in one call.

    Parameters
    ----------
    data : path, list of paths, source or pair (X, y)
        The data to learn from; see ``open_source`` for the files that can be read, one or several.
    method : str
        A name that ``streamsieve methods`` lists, or the name of its class.
    n_features_to_select : int or float, optional
        The budget; by default that of the method.
    test : path, list of paths, source, pair (X, y) or float, optional
        Test rows, on which the accuracy, the balanced accuracy and the AUC are measured afterwards;
        for numbers, R2. A fraction, such as 0.2, holds out that part of the rows, drawn with
        ``seed``.
    classes, target, zero_based, names, drop, only, strings, n_buckets, missing, dates, weight
        As in ``fit_source`` and ``open_source``. By default, the classes are found in the data if
        it can be read twice.
    groups : path, sequence or dict, optional
        The groups of the features, integers or names, for methods that support groups: one for each
        feature in order, or by the name or index of a feature. A text file has one group per line,
        or on each line a feature (its name, or its id as in the data), a tab and its group.
    seed : int, optional
        The ``random_state`` of methods that draw random numbers.
    resamples : int, optional
        The number of subsamples of half the rows, 2 or more, to select from again. Their rows are
        held in memory. The ``frequency`` of a feature is how often it is selected.
    output : path, optional
        A new or empty folder for the model, the selection and the record.
    checkpoint_every : int, optional
        Write a checkpoint to ``output``, for ``resume``, every so many rows, or features for
        methods that learn from columns.
    engine : {"local", "ray"}, optional
        What runs the workers if the method is to be trained in parallel: threads and processes of
        this machine, or Ray.
    workers : int, optional
        The number of workers; by default one per core of this machine.
    address : str, optional
        The address of a Ray cluster. By default a cluster that runs on this machine is used, or one
        is started for the run.
    memory : int or str, optional
        The largest number of bytes that this process may take, such as "2GB". A run that would need
        more is refused, if possible before it begins.
    continue_from : path, optional
        The folder of a run of a method that learns rows, finished or not. Its model learns the rows
        of ``data``, too, with the method and all options of that run; new values, names and ids
        become features. Only ``test``, ``output``, ``checkpoint_every`` and ``memory`` can be given
        beside it.
    watch : callable, optional
        Called with the progress after every block.
    progress : bool
        Show a progress bar, in a terminal or a notebook.
    **params
        Parameters of the method.

    Examples
    --------
    >>> import streamsieve as ss
    >>> record = ss.select("synthetic:x1?rows=2000", n_features_to_select=5)
    >>> record.n_rows, len(record.selection)
    (2000, 5)
    """
    if continue_from is not None:
        inherited = {
            "n_features_to_select": n_features_to_select,
            "classes": classes,
            "groups": groups,
            "seed": seed,
            "resamples": resamples,
            "engine": engine,
            "workers": workers,
        }
        for name in (*params, *(name for name, value in inherited.items() if value is not None)):
            raise UsageError(
                name, "is an option of the earlier run, which goes on with it; omit it"
            )
        request = replace(
            request_to_continue(continue_from),
            data=location(data),
            test=float(test) if isinstance(test, int | float) else location(test),
            checkpoint_every=to_builtin(checkpoint_every),
            memory=to_builtin(memory),
        )
        check_checkpoints(request, output)
        with limited(memory), watching(watch, progress) as observer:
            return with_warnings(start_run(request, data, test, output, observer))
    method, read = method_named(method), ReadOptions.pop_from(params)
    if n_features_to_select is not None:
        params["n_features_to_select"] = n_features_to_select
    if engine is None and workers is not None and "workers" in find_method(method).parameter_names:
        params["workers"], workers = workers, None  # of a simulation
    request = RunRequest(
        method=method,
        params={name: to_builtin(value) for name, value in params.items()},
        data=location(data),
        test=float(test) if isinstance(test, int | float) else location(test),
        read=read.with_absolute_paths(),
        classes=None if classes is None else np.asarray(classes).tolist(),
        groups=as_request(groups),
        seed=to_builtin(seed),
        checkpoint_every=to_builtin(checkpoint_every),
        resamples=to_builtin(resamples),
        memory=to_builtin(memory),
        engine=EngineChoice.of(engine, to_builtin(workers), address),
    )
    check_checkpoints(request, output)
    if resamples is not None and (not is_integer(resamples) or resamples < 2):
        raise UsageError("resamples", f"must be an integer of 2 or more, got {resamples!r}")
    with limited(memory), watching(watch, progress) as observer:
        record = start_run(request, data, test, output, observer)
    return with_warnings(record)


def check_checkpoints(request: RunRequest, output: str | Path | None) -> None:
    """Raise UsageError if checkpoints are asked for that cannot be written or be of use."""
    if request.checkpoint_every is None:
        return
    if output is None or request.checkpoint_every < 1:
        raise UsageError(
            "checkpoint_every",
            f"must be 1 or more, and needs a folder: {spell('output', 'RUN_DIR')}",
        )
    if request.data is None:
        raise UsageError(
            "checkpoint_every", "the data must be readable again: a file, not memory or a pipe"
        )


def request_to_continue(run_dir: str | Path) -> RunRequest:
    """Return the request of a run, for another one that goes on from its model."""
    folder = RunDirectory(run_dir)
    request, learner = folder.request(), load_earlier(folder)
    if learner.reads != "rows":
        raise UsageError(
            f"{run_dir}: {request.method} reads {learner.reads} and cannot learn more rows; methods"
            " that can: sofs, arow and others that read rows"
        )
    if parameters_of(learner.params).get("n_epochs", 1) != 1:
        raise UsageError(
            f"{run_dir}: its rows were learned several times (n_epochs); only a run with one pass"
            " over its rows can go on with others"
        )
    earlier = EarlierRun(str(Path(run_dir).absolute()), learner.n_learned)
    return replace(request, engine=None, resamples=None, earlier=earlier)


def load_earlier(folder: RunDirectory) -> AnyLearner:
    """Return what a run has learned, finished or not."""
    path = folder.checkpoint if folder.result() is None else folder.model()
    if path is None:
        raise UsageError(
            f"{folder.path}: the run has learned nothing yet; finish it: select --resume"
            f" {folder.path}"
        )
    return load_learner(path)[0]


def first_learner(request: RunRequest) -> AnyLearner:
    """Return a new learner, or that of the run from which the request goes on."""
    if request.earlier is None:
        return make_learner(request.method, request.params, request.seed)
    folder = RunDirectory(request.earlier.path)
    learner = load_earlier(folder)
    if learner.n_learned != request.earlier.n_rows:
        raise DataError(
            f"{folder.path}: has learned {learner.n_learned:,} rows by now, not"
            f" {request.earlier.n_rows:,} as when this run began; start a new run"
        )
    return learner


def start_run(
    request: RunRequest, data: Any, test: Any, output: str | Path | None, watch: Watch | None
) -> RunRecord:
    """Start a run from the beginning."""
    request = with_skipping(request)
    learner = first_learner(request)
    refuse_options(learner, request, test)
    source, test_source = open_data(data, test, request, learner)
    if request.resamples is not None and not source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, and {spell('resamples')} learns from its rows"
            f" again; save it to a file, or omit {spell('resamples')}"
        )
    request = replace(request, fingerprint=fingerprint(request.data))
    folder = None if output is None else RunDirectory(output)
    with folder.begin_run(request) if folder else nullcontext():
        return execute(request, learner, source, test_source, folder, {}, watch)


def resume(
    run_dir: str | Path, watch: Watch | None = None, address: str | None = None
) -> RunRecord:
    """Resume a run from its last checkpoint, or from the start.

    The record of a finished run is returned again. The ``address`` of a Ray cluster must be given
    again: the folder may come from a stranger, and who controls a cluster can run code here.
    """
    folder = RunDirectory(run_dir)
    request = with_address(folder.request(), run_dir, address)
    record = folder.result()
    if record is not None:
        if folder.checkpoint is not None:
            with folder.lock_run():
                folder.drop_checkpoint()
        return with_warnings(record)
    if request.data is None:
        raise UsageError(
            f"{run_dir}: the run read its data from memory or a pipe and cannot be resumed"
        )
    check_unchanged(request.data, request.fingerprint)
    with folder.lock_run():
        record = folder.result()
        if record is None:  # and not finished by another process meanwhile
            with limited(request.memory):
                learner, note = load_last_state(request, folder.checkpoint)
                source, test = open_data(request.data, request.test, request, learner)
                record = execute(request, learner, source, test, folder, note, watch)
    return with_warnings(record)


def with_address(request: RunRequest, run_dir: str | Path, address: str | None) -> RunRequest:
    """Return the request with the Ray cluster that the user names now."""
    engine = request.engine
    if engine is not None and engine.address is not None and address is None:
        raise UsageError(
            f"{run_dir}: the run asks for the Ray cluster at {engine.address}, which can run code"
            f" on this machine; if you trust it, say so: {spell('address', engine.address)}"
        )
    if address is None:
        return request
    if engine is None or engine.name != "ray":
        raise UsageError(f"{run_dir}: the run does not use Ray; omit the address")
    return replace(request, engine=replace(engine, address=address))


def load_last_state(request: RunRequest, path: Path | None) -> tuple[AnyLearner, dict[str, Any]]:
    """Return the learner of the last checkpoint, or a new one, and the notes of the run."""
    if path is None:
        return first_learner(request), {}
    try:
        learner, model = load_learner(path)
    except DataError as error:
        raise DataError(f"{error}; remove it to go on from the start") from error
    note = model.note or {}
    for wrong in wrong_fields(note, NoteFields):
        raise DataError(f"{path}: its {wrong} is damaged; remove it to go on from the start")
    return learner, note


def execute(
    request: RunRequest,
    learner: AnyLearner,
    source: DataSource,
    test: Source | None,
    folder: RunDirectory | None,
    note: dict[str, Any],
    watch: Watch | None,
) -> RunRecord:
    """Train a learner and save the result.

    A failed run leaves nothing but its last checkpoint. ``note`` is that of the checkpoint from
    which the run is resumed.
    """
    every = request.checkpoint_every
    checkpoint = Checkpoint(folder / CHECKPOINT, every) if folder and every else None
    classes = request.classes
    if request.earlier is not None and "classes" in learner.method.targets:
        classes = learner.results.classes_.tolist()
    expect_classes(source, classes)
    try:
        groups = None if request.groups is None else parse_groups(request.groups)
        options: dict[str, Any] = {
            "classes": classes,
            "groups": groups,
            "watch": watch,
            "checkpoint": checkpoint,
        }
        if request.engine is None:
            earlier = 0 if request.earlier is None else request.earlier.n_rows
            options["recording"] = Recording.from_note(note, earlier)
            training = train_within_limit(learner, source, options)
        else:
            training = train_on(
                request.engine, learner, source, note=note, trace=note.get("trace", []), **options
            )
        record = record_of(request, learner, source, training)
        if test is not None:
            notes.info("predicting %s", test.name)
            add_quality(record, learner, test)
        if request.resamples is not None:
            add_frequency(record, request, source, request.resamples)
        record.peak_memory_bytes = peak_memory()
        if folder:
            folder.finish(record, learner)
            notes.info("wrote model and result to %s", folder.path)
    except BaseException as error:
        if folder:
            folder.discard(hopeless=isinstance(error, DataError))
        raise
    return record


def train_within_limit(
    learner: AnyLearner, source: DataSource, options: dict[str, Any]
) -> Training:
    """Train a learner, with columns from a file if memory is limited.

    If a method for columns learns from rows that do not fit in memory, the rows are transposed
    through a file.
    """
    rows = isinstance(source, Source) and not isinstance(source, ColumnSource) and source.rewindable
    if not (is_limited() and rows and learner.reads == "columns"):
        return train(learner, source, **options)
    clock, stamp, report = Clock(), {"run": uuid4().hex}, reporter(options["watch"], source)
    with (
        TemporaryDirectory(prefix="streamsieve-", dir=scratch_folder()) as folder,
        transposed(
            as_row_source(source), available_memory() // 2, Path(folder) / "columns", stamp, report
        ) as columns,
    ):
        transposing = clock.seconds()
        columns.facts = replace(columns.facts, encoding=source.encoding, notes=source.facts.notes)
        training = train(learner, columns, **options)
    for name, seconds in transposing.items():
        training.seconds[name] += seconds
    return training


def add_quality(record: RunRecord, learner: AnyLearner, test: Source) -> None:
    """Measure how well the learner predicts rows that it has not learned."""
    rows = predictions(learner, test)
    reliability: Reliability | None = None
    if rows.classes is None:
        quality: Quality | Fit | None = fit_of(rows)
    else:
        quality, reliability = measure_classes(rows, rows.classes)
    if isinstance(quality, Fit):
        record.test_r2 = quality.r2
        record.details["test_error"] = quality.error
    elif quality is not None:
        record.test_accuracy = quality.accuracy
        record.details["test_balanced_accuracy"] = quality.balanced_accuracy
        if quality.auc is not None:
            record.details["test_auc"] = quality.auc
    if reliability is not None:
        record.details["test_log_loss"] = reliability.log_loss
        record.details["test_reliability"] = reliability.deciles


def add_frequency(
    record: RunRecord, request: RunRequest, source: DataSource, n_resamples: int
) -> None:
    """Select from subsamples as the run did, and count how often each feature is selected."""
    from ..evaluation.resampling import stability_selection  # slow to import

    notes.info("selecting from %s subsamples of %s", f"{n_resamples:,}", source.name)
    result = stability_selection(
        source,
        request.method,
        n_resamples=n_resamples,
        fraction=FRACTION,
        seed=request.seed or 0,
        jobs=min(cores(), n_resamples),
        groups=request.groups,
        **request.params,
    )
    record.details["frequency"] = result.frequency_of(record.selection.indices).tolist()
    record.details["stability"] = {
        **finite(result.stability._asdict()),
        "resamples": n_resamples,
        "fraction": FRACTION,
    }


def with_warnings(record: RunRecord) -> RunRecord:
    """Return the record, after warnings about problems that make it useless."""
    warn_about(
        [Finding(**finding) for finding in record.details.get("diagnosis", [])], stacklevel=3
    )
    return record


def record_of(
    request: RunRequest, learner: AnyLearner, source: DataSource, training: Training
) -> RunRecord:
    """Return the record of a run: its results and its cost."""
    results = learner.results
    result_summary = results.result_summary()
    details: dict[str, Any] = {
        **result_summary.details,
        "diagnosis": [finding._asdict() for finding in training.findings],
    }
    if training.history is not None:
        details["history"] = training.history
    if training.details:
        details["engine"] = training.details
    details |= {"first_id": source.facts.first_id, "renumbered": source.facts.renumbered}
    return RunRecord(
        method=request.method,
        params=parameters_of(learner.params),
        n_rows=results.n_rows_,
        n_features=learner.features.width,
        n_nonzero=results.n_nonzero_,
        selection=results.selection(),
        mistakes=result_summary.mistakes,
        updates=result_summary.updates,
        seconds=training.seconds,
        peak_memory_bytes=peak_memory(),
        curve=result_summary.curve,
        measures=result_summary.measures,
        trace=training.trace,
        data=request.summarize_fingerprint() | describe_data(request.fingerprint, source, learner),
        details=details,
        open_selector=partial(estimator_of, learner),
    )


def estimator_of(learner: AnyLearner) -> Estimator:
    """Return the learner as an estimator; scikit-learn is imported only then."""
    from ..estimators import as_estimator

    return as_estimator(learner)


def open_data(
    data: Any, test: Any, request: RunRequest, learner: AnyLearner
) -> tuple[DataSource, Source | None]:
    """Return the rows to learn from and the rows to test on.

    Both are opened before anything is learned, so that a wrong name is found at once.
    """
    if request.earlier is None:
        source = open_with_options(data, request.read)
    else:
        record = RunDirectory(request.earlier.path).result()
        renumbered = None if record is None else record.details.get("renumbered")
        source = open_to_continue(data, learner.features, request.read, renumbered)
    notes.info("opened %s", source.name)
    if test is None:
        return source, None
    if isinstance(request.test, float):
        return hold_out(as_row_source(source), request.test, request.seed or 0)
    return source, open_test_rows(test, source, request.read)
