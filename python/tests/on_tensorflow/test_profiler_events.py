"""What the profiler writes for TensorBoard, read with TensorBoard's own reader."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from small_master import SmallMaster
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from determined import core
from determined._info import ClusterInfo, TrialInfo
from determined.core._connection import Master
from determined.core._profiler import ProfilerContext
from determined.exec._measured import Measured
from determined.tensorboard._board import Board, system_scalars


@pytest.fixture
def master() -> Iterator[SmallMaster]:
    small = SmallMaster([1])
    yield small
    small.close()


def info_of(master: SmallMaster) -> ClusterInfo:
    trial = TrialInfo(
        trial_id=7, experiment_id=3, trial_seed=0, hparams={}, experiment_config={}, trial_run_id=1, steps_completed=0
    )
    return ClusterInfo(
        master_url=master.url,
        cluster_id="c",
        agent_id="agent-a",
        slot_ids=[],
        task_id="3.x",
        allocation_id="3.x.1",
        session_token="token",
        task_type="TRIAL",
        latest_checkpoint=None,
        warm_start=False,
        trial_info=trial,
    )


def wait_for(condition: Callable[[], Any]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def curves(directory: pathlib.Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(directory))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_the_measurements_of_a_trial_are_among_its_event_files(master: SmallMaster, tmp_path: pathlib.Path) -> None:
    board = Board(tmp_path, "c", 3, 7, apart=True)
    profiler = ProfilerContext(core.DistributedContext.single(), info_of(master), Master(master.url, "token"), board)
    profiler.on(sampling_interval=0.1, samples_per_report=2)
    wait_for(lambda: len(master.metrics("memory")) >= 3)
    profiler.off()
    shown = curves(tmp_path / "c" / "tensorboard" / "experiment" / "3" / "trial" / "7")
    free = [
        (report["stepsCompleted"], report["metrics"]["avgMetrics"]["agent-a"]["memory_free"])
        for report in master.metrics("memory")
    ]
    points = shown["System/memory/memory_free/agent-a"]
    assert len(points) >= 3
    assert [step for step, _ in points] == [step for step, _ in free][: len(points)]
    assert [value for _, value in points] == pytest.approx([value for _, value in free][: len(points)], rel=1e-6)
    assert all(0 <= value <= 100 for _, value in shown["System/cpu/cpu_util_simple/agent-a"])
    assert "System/disk/disk_util/agent-a/root" in shown


def test_the_profiler_can_be_switched_on_again(master: SmallMaster, tmp_path: pathlib.Path) -> None:
    board = Board(tmp_path, "c", 3, 7, apart=True)
    profiler = ProfilerContext(core.DistributedContext.single(), info_of(master), Master(master.url, "token"), board)
    for reports in (1, 3):
        profiler.on(sampling_interval=0.1, samples_per_report=1)
        wait_for(lambda count=reports: len(master.metrics("network")) >= count)  # type: ignore[misc]
        profiler.off()
    assert "System/network/net_throughput_recv/agent-a" in curves(board.target or tmp_path)


def test_curves_have_the_names_of_machine_and_device() -> None:
    measured = {"gpu_util": 1, "GPU-1": {"gpu_free_memory": 2}, "/": {"disk_util": 3}, "/a/b": {"disk_util": 4}}
    assert system_scalars("gpu", "a", measured) == {
        "System/gpu/gpu_util/a": 1,
        "System/gpu/gpu_free_memory/a/GPU-1": 2,
        "System/gpu/disk_util/a/root": 3,
        "System/gpu/disk_util/a/a/b": 4,
    }


class Reported:
    """A service whose trial has these reports of a harness that writes no event files of its own."""

    def __init__(self) -> None:
        self.state = "STATE_RUNNING"
        self.loads = [(1_700_000_000, 0.5)]

    def call(self, _: str, path: str) -> Any:
        assert path == "/api/v1/trials/7"
        return {"trial": {"state": self.state}}

    def items(self, path: str) -> list[Any]:
        if "group=cpu" not in path:
            return []
        reports = [
            {"totalBatches": seconds, "metrics": {"avg_metrics": {"agent-b": {"cpu_util_simple": load}}}}
            for seconds, load in self.loads
        ]
        return [{"metrics": reports}]


def test_what_another_harness_only_reports_is_shown_too(tmp_path: pathlib.Path) -> None:
    service, own, shown = Reported(), tmp_path / "own", tmp_path / "shown"
    measured = Measured(service, 7, own, shown)  # type: ignore[arg-type]
    assert measured.update(), "the trial still runs"
    service.loads.append((1_700_000_010, 0.75))
    service.state = "STATE_COMPLETED"
    assert not measured.update()
    assert curves(shown) == {"System/cpu/cpu_util_simple/agent-b": [(1_700_000_000, 0.5), (1_700_000_010, 0.75)]}


def test_curves_of_the_trial_itself_are_not_shown_twice(tmp_path: pathlib.Path) -> None:
    (tmp_path / "events.out.tfevents.1.machine.2.profiler").touch()
    assert not Measured(Reported(), 7, tmp_path, tmp_path / "shown").update()  # type: ignore[arg-type]
    assert not (tmp_path / "shown").exists()
