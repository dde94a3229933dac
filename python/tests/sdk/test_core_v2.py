"""core_v2 without a master, and what the profiler measures; with a master: tests/e2e/clients/test_unmanaged.py."""

from __future__ import annotations

import io
import pathlib
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from small_master import SmallMaster, info_of

from determined import core
from determined._run._local import DirectoryStorage
from determined.core._connection import Master
from determined.core._profiler import Machine, ProfilerContext, average
from determined.experimental import core_v2
from determined.experimental.core_v2 import _singleton
from determined.experimental.core_v2._config import document, merged, storage_section
from determined.experimental.core_v2._context import UnmanagedContext
from determined.experimental.core_v2._heartbeat import Exit, describe
from determined.experimental.core_v2._log_shipping import LogShipper
from determined.experimental.core_v2._tracking import track


@pytest.fixture
def master() -> Iterator[SmallMaster]:
    served = SmallMaster([1])
    yield served
    served.close()


def test_a_storage_is_a_directory_an_address_or_a_section(tmp_path: pathlib.Path) -> None:
    assert storage_section(tmp_path) == {"type": "directory", "container_path": str(tmp_path)}
    assert storage_section(f"file://{tmp_path}") == {"type": "directory", "container_path": str(tmp_path)}
    assert storage_section("here")["container_path"] == str(pathlib.Path.cwd() / "here")
    assert storage_section("s3://bucket/a/b") == {"type": "s3", "bucket": "bucket", "prefix": "a/b"}
    assert storage_section("gs://bucket")["type"] == "gcs"
    assert storage_section({"type": "shared_fs", "host_path": "/x"}) == {"type": "shared_fs", "host_path": "/x"}
    with pytest.raises(ValueError, match="ftp://x"):
        storage_section("ftp://x")


def test_the_default_storage_is_in_the_users_data_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert storage_section(None)["container_path"] == str(tmp_path / "determined" / "checkpoints")


def test_the_older_way_to_configure_is_understood() -> None:
    with pytest.warns(FutureWarning):
        defaults = core_v2.DefaultConfig(name="a", project="mine")
    with pytest.warns(FutureWarning):
        unmanaged = core_v2.UnmanagedConfig(project="theirs", external_experiment_id="x")
    with pytest.warns(FutureWarning) as told:
        config = merged(None, defaults, unmanaged, on_cluster=False)
    assert [str(each.message) for each in told] == ["defaults and unmanaged are deprecated; pass config=Config(…)"]
    assert (config.name, config.project, config.external_experiment_id) == ("a", "mine", "x")
    with pytest.raises(ValueError, match=r"core_v2\.Config"):
        merged(None, None, None, on_cluster=False)
    assert merged(None, None, None, on_cluster=True) == core_v2.Config()


def test_the_configuration_has_only_what_was_said() -> None:
    text = document(core_v2.Config(name="a", labels=["x"]), {"type": "directory", "container_path": "/x"})
    assert text["searcher"] == {"name": "single", "metric": "unmanaged"}
    assert set(text) == {"name", "labels", "searcher", "checkpoint_storage"}
    assert document(core_v2.Config(), {})["name"].startswith("unmanaged-")


def test_a_trials_name_needs_that_of_its_experiment() -> None:
    with pytest.raises(ValueError, match="identified by both"):
        track(None, core_v2.Config(external_trial_id="a"), {}, core.DistributedContext.single())


def test_nothing_is_available_before_init_and_after_close() -> None:
    assert not core_v2.train and core_v2.info is None
    for call in (lambda: core_v2.train.report_training_metrics(1, {}), lambda: core_v2.checkpoint.store_path({})):
        with pytest.raises(RuntimeError, match=r"unavailable without a trial; call core_v2\.init\(\) first"):
            call()
    core_v2.close()
    assert not core_v2.preempt and "which is not there before core_v2.init()" in repr(core_v2.preempt)
    with pytest.raises(RuntimeError, match="init"):
        core_v2.url_reverse_webui_exp_view()


class Told:
    """Stands for a context: says when it begins and ends."""

    info = None

    def __init__(self, said: list[str], name: str | None) -> None:
        self.said, self.name = said, name
        self.train = self.checkpoint = self.distributed = self.preempt = self.searcher = name
        said.append(f"{name} made")

    def __enter__(self) -> None:
        self.said.append(f"{self.name} begins")

    def close(self) -> None:
        self.said.append(f"{self.name} ends")


def test_an_init_that_fails_leaves_the_trial_before_it_running(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def made(config: core_v2.Config, **_: Any) -> Told:
        if config.name == "wrong":
            raise ValueError("the master refuses it")
        return Told(said, config.name)

    monkeypatch.setattr(_singleton, "init_context", made)
    core_v2.init(config=core_v2.Config(name="one"))
    with pytest.raises(ValueError, match="refuses"):
        core_v2.init(config=core_v2.Config(name="wrong"))
    assert core_v2.train == "one"
    same = {"external_experiment_id": "x", "external_trial_id": "y"}
    core_v2.init(config=core_v2.Config(name="two", **same))
    core_v2.init(config=core_v2.Config(name="three", **same))
    core_v2.close()
    assert said == [
        *("one made", "one begins", "two made", "one ends", "two begins"),
        *("two ends", "three made", "three begins", "three ends"),  # a trial is run by one at a time
    ]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, None),
        (SystemExit(0), None),
        (SystemExit(), None),
        (SystemExit(3), "its process ended with status 3"),
        (SystemExit("no data"), "no data"),
        (ValueError("x"), "ValueError: x"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
    ],
)
def test_how_a_program_ends_says_whether_it_failed(error: BaseException | None, words: str | None) -> None:
    assert describe(error) == words


def test_sys_exit_is_noticed_and_given_back() -> None:
    before = sys.exit
    watched = Exit()
    watched.watch()
    with pytest.raises(SystemExit):
        sys.exit(5)
    watched.unwatch()
    assert watched.failure == "its process ended with status 5"
    assert sys.exit is before


def test_what_is_printed_is_shipped_line_by_line(master: SmallMaster, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdout", printed)
    shipper = LogShipper(info_of(master, "unmanaged", 2), rank=1)
    shipper.start()
    print("one")
    sys.stdout.write("two, in ")
    sys.stdout.write("parts\nthe rest")
    shipper.close()
    assert sys.stdout is printed
    lines = [line for body in master.calls("/task/logs") for line in body["logs"]]
    assert [line["log"] for line in lines] == ["one", "two, in parts", "the rest"]
    assert {(line["taskId"], line["rankId"], line["stdtype"]) for line in lines} == {("3.x", 1, "stdout")}
    assert printed.getvalue() == "one\ntwo, in parts\nthe rest"


def test_a_program_outside_the_cluster_says_only_that_a_checkpoint_is_saved(
    master: SmallMaster, tmp_path: pathlib.Path
) -> None:
    context = UnmanagedContext(
        distributed=core.DistributedContext.single(),
        info=info_of(master, "unmanaged", 2),
        storage=DirectoryStorage(str(tmp_path)),
        shared_root=tmp_path,
        preempt_mode=core.PreemptMode.WorkersAskChief,
        tensorboard_mode=core.TensorboardMode.MANUAL,
        owns_distributed=True,
    )
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "model").write_text("m")
    assert [(path, body["uuid"]) for path, body in master.told if "/checkpoints" in path] == [
        ("/api/v1/checkpoints", uuid)
    ]


def test_the_profiler_reports_averages(master: SmallMaster) -> None:
    info = info_of(master, "unmanaged", 2)
    connection = Master(master.url, "token")
    profiler = ProfilerContext(core.DistributedContext.single(), info, connection)
    profiler.on(sampling_interval=0.1, samples_per_report=2)
    profiler.on()  # changes nothing
    limit = time.monotonic() + 20
    while len(master.metrics("memory")) < 2 and time.monotonic() < limit:
        time.sleep(0.05)
    profiler.off()
    profiler.off()
    reports = master.metrics("memory")
    assert reports[0]["metrics"]["avgMetrics"]["unmanaged"]["memory_free"] > 0
    assert reports[0]["stepsCompleted"] < reports[1]["stepsCompleted"], "each report has a place of its own"
    assert 0 <= master.metrics("cpu")[0]["metrics"]["avgMetrics"]["unmanaged"]["cpu_util_simple"] <= 100


@pytest.mark.parametrize("options", [{"sampling_interval": 0.01}, {"samples_per_report": 0}])
def test_the_profiler_says_what_it_cannot_do(options: dict[str, Any]) -> None:
    profiler = ProfilerContext(core.DistributedContext.single(), None, None)
    with pytest.raises(ValueError, match="must be"):
        profiler.on(**options)


def test_averages_are_over_those_that_have_a_name() -> None:
    samples = [{"a": 1.0, "gpu": {"x": 2.0}}, {"a": 3.0, "gpu": {"x": 4.0}}, {"gpu": {"x": 6.0}}]
    assert average(samples) == {"a": 2.0, "gpu": {"x": 4.0}}


def test_a_kernel_without_counters_is_no_failure(tmp_path: pathlib.Path) -> None:
    found = Machine(tmp_path).sample()
    assert "cpu" not in found and "memory" not in found
