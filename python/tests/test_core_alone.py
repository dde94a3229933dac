"""The Core API outside the cluster."""

from __future__ import annotations

import io
import logging
import math
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import determined as det
from determined import core


def alone(tmp_path: pathlib.Path, **options: Any) -> core.Context:
    return core.init(checkpoint_storage=tmp_path / "checkpoints", **options)


def test_off_the_cluster_there_is_no_information() -> None:
    assert det.get_cluster_info() is None


def test_off_the_cluster_a_loop_runs_once_and_keeps_its_checkpoints(tmp_path: pathlib.Path) -> None:
    with alone(tmp_path) as context:
        lengths = []
        for operation in context.searcher.operations():
            lengths.append(operation.length)
            context.train.report_training_metrics(1, {"loss": 1})
            context.train.set_status("busy")
            assert not context.preempt.should_preempt()
            operation.report_completed(0.5)
        assert lengths == [1]
        assert context.train.get_experiment_best_validation() is None
        assert context.train.get_metadata() == {}
        context.train.set_metadata({"phase": 1})
        assert context.train.get_metadata() == {"phase": 1}
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "model").write_text("m")
        uuid = context.checkpoint.upload(tmp_path / "out", {"steps_completed": 1, "extra": [1]})
        assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 1, "extra": [1]}
        context.checkpoint.download(uuid, tmp_path / "in", selector=lambda name: name == "model")
        assert [path.name for path in (tmp_path / "in").iterdir()] == ["model"]
        for name in ("", ".", "..", f"../{uuid}", f"{uuid}/.."):
            with pytest.raises(ValueError, match="is not a checkpoint's UUID"):
                context.checkpoint.delete(name)
        context.checkpoint.delete(uuid)
        with pytest.raises(FileNotFoundError, match=uuid):
            context.checkpoint.download(uuid, tmp_path / "in2")


def test_a_block_that_fails_leaves_no_checkpoint(tmp_path: pathlib.Path) -> None:
    def fail(context: core.Context) -> None:
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
            (path / "half").write_text("")
            raise ZeroDivisionError

    with alone(tmp_path) as context:
        with pytest.raises(ZeroDivisionError):
            fail(context)
        assert not list((tmp_path / "checkpoints").iterdir())


@pytest.mark.parametrize("metadata", [None, {}, {"steps_completed": "3"}, {"steps_completed": True}])
def test_a_checkpoint_must_say_how_far_it_is(tmp_path: pathlib.Path, metadata: Any) -> None:
    with alone(tmp_path) as context, pytest.raises(ValueError, match="steps_completed"):
        context.checkpoint.upload(tmp_path, metadata)


@pytest.mark.parametrize("level", ["WARNING", logging.ERROR])
def test_a_log_line_and_an_alert_begin_with_their_level(level: Any, tmp_path: pathlib.Path) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter(det.LOG_FORMAT))
    logging.getLogger("determined").addHandler(handler)
    try:
        with alone(tmp_path) as context:
            context.alert("disk full", "on a", level=level)
    finally:
        logging.getLogger("determined").removeHandler(handler)
    word = level if isinstance(level, str) else logging.getLevelName(level)
    assert written.getvalue() == f"{word}: [{os.getpid()}] determined: alert: disk full: on a\n"


def test_wrong_reports_are_refused_before_they_are_sent(tmp_path: pathlib.Path) -> None:
    with alone(tmp_path) as context:
        train: Any = context.train
        for progress in (1.5, "a", None, math.nan):
            with pytest.raises(ValueError, match="must be a number from 0 to 1"):
                train.report_progress(progress)
        for group in ("a.b", "", 5, None):
            with pytest.raises(ValueError, match="without a dot"):
                train.report_metrics(group, 1, {})
        for steps in (-1, None, math.nan, 2.5, "2", True):
            with pytest.raises(ValueError, match=f"steps_completed is {steps!r}; it must be a whole number"):
                train.report_training_metrics(steps, {})
        with pytest.raises(TypeError, match="must be a dict"):
            train.report_training_metrics(1, [1])
        with pytest.raises(TypeError, match=r"metrics\['loss'\] is a value of the type object"):
            train.report_training_metrics(1, {"loss": object()})
        with pytest.raises(TypeError, match=r"metadata\['a'\] is a value of the type object"):
            train.set_metadata({"a": object()})
        operation: Any = next(context.searcher.operations())
        for metric in (math.nan, None, "abc", {"a": 1}):
            with pytest.raises(ValueError, match=r"is NaN|searcher_metric is .*; it must be a number"):
                operation.report_completed(metric)
        with pytest.raises(ValueError, match="length is '1'; it must be a number"):
            operation.report_progress("1")


def test_steps_may_be_whole_numbers_of_any_kind(tmp_path: pathlib.Path) -> None:
    with alone(tmp_path) as context:
        for steps in (4, 4.0, np.int64(4), np.float32(4), torch.tensor(4)):
            context.train.report_training_metrics(steps, {"loss": 1.0})  # type: ignore[arg-type]
            with context.checkpoint.store_path({"steps_completed": steps}) as (_, uuid):
                pass
            assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 4}


def test_a_mode_may_be_its_text_and_nothing_else(tmp_path: pathlib.Path) -> None:
    with alone(tmp_path, preempt_mode="WORKERS_ASK_MASTER", tensorboard_mode="MANUAL") as context:
        assert context.preempt._mode is core.PreemptMode.WorkersAskMaster
        assert [operation.length for operation in _completed(context, "CHIEF_ONLY")] == [1]
        with pytest.raises(ValueError, match=r"searcher_mode is 'x'; it must be one of SearcherMode.WorkersAskChief, "):
            next(context.searcher.operations("x"))  # type: ignore[arg-type]
        with pytest.raises(
            ValueError, match=r"download_mode is None; it must be one of DownloadMode.LocalWorkersShare"
        ):
            context.checkpoint.download("id", tmp_path, None)  # type: ignore[arg-type]
    for wrong in ("x", None, 1):
        with pytest.raises(ValueError, match=f"preempt_mode is {wrong!r}; it must be one of PreemptMode.Workers"):
            alone(tmp_path, preempt_mode=wrong)
    with pytest.raises(TypeError, match=r"distributed is 5; it must be a determined.core.DistributedContext"):
        alone(tmp_path, distributed=5)
    with pytest.raises(TypeError, match="checkpoint_storage is 5; it must be a directory"):
        core.init(checkpoint_storage=5)  # type: ignore[arg-type]


def _completed(context: core.Context, mode: Any) -> Iterator[core.SearcherOperation]:
    for operation in context.searcher.operations(mode):
        operation.report_completed(0.5)
        yield operation


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("steps_completed", "metadata is 'steps_completed'; it must be a dict"),
        ({"steps_completed": 3, "o": [object()]}, r"metadata\['o'\]\[0\] is a value of the type object"),
    ],
)
def test_metadata_that_cannot_be_kept_are_refused_before_anything_is_saved(
    metadata: Any, message: str, tmp_path: pathlib.Path
) -> None:
    with alone(tmp_path) as context, pytest.raises(TypeError, match=message):
        context.checkpoint.store_path(metadata).__enter__()
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_checkpoint_says_of_itself_what_is_given_and_not_what_another_one_said(tmp_path: pathlib.Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "metadata.json").write_text('{"steps_completed": 1}')
    with alone(tmp_path) as context:
        for shard in (False, True):
            uuid = context.checkpoint.upload(own, {"steps_completed": 2}, shard=shard)
            assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 2}
        with context.checkpoint.store_path({"steps_completed": 3}) as (path, uuid):
            (path / "metadata.json").write_text("{}")
        assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 3}
    assert (own / "metadata.json").read_text() == '{"steps_completed": 1}'
