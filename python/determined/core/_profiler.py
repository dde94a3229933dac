"""Measures a trial's machine and reports the results as metrics."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import Any

from determined._info import ClusterInfo
from determined.common.api import errors
from determined.core._connection import Master
from determined.core._distributed import DistributedContext
from determined.tensorboard._board import Board

logger = logging.getLogger("determined")

Sample = dict[str, dict[str, Any]]
"""The measured values by group; one dict per device."""

_LEAST_SECONDS = 0.1
_DISKS = ("/", "/determined_shared_fs")


class ProfilerContext:
    """Measures CPU, memory, disks, network and GPUs of this machine while it is on.

    Averages over several samples are reported in the groups ``cpu``, ``memory``, ``disk``, ``network`` and ``gpu``;
    their ``steps_completed`` is the time in seconds since 1970. They are also written to ``board``, for TensorBoard.
    One process per machine measures. Outside a cluster it does nothing.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        info: ClusterInfo | None,
        master: Master | None,
        board: Board | None = None,
    ) -> None:
        self._board = board
        self._distributed = distributed
        self._info = info
        self._master = master
        self._collector: _Collector | None = None

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Starts measuring every ``sampling_interval`` seconds. Does nothing if it is already on.

        Raises:
            ValueError: the interval is below 0.1 s, or ``samples_per_report`` is not a whole number of at least 1.
        """
        if sampling_interval < _LEAST_SECONDS:
            raise ValueError(f"sampling_interval is {sampling_interval}; it must be {_LEAST_SECONDS} or more")
        if not isinstance(samples_per_report, int) or samples_per_report < 1:
            raise ValueError(f"samples_per_report is {samples_per_report!r}; it must be a whole number, 1 or more")
        if self._collector is not None or self._distributed.local_rank != 0:
            return
        if self._info is None or self._master is None:
            return
        self._collector = _Collector(self._info, self._board, sampling_interval, samples_per_report)
        self._collector.start()

    def off(self) -> None:
        """Stops measuring. Samples taken since the last report are dropped."""
        collector, self._collector = self._collector, None
        if collector is not None:
            collector.stop()


class _Collector(threading.Thread):
    def __init__(self, info: ClusterInfo, board: Board | None, interval: float, samples_per_report: int) -> None:
        super().__init__(name="profiler", daemon=True)
        self._info = info
        self._board = board
        self._master = Master(info.master_url, info.session_token)  # an outage does not hold up the trial's reports
        self._interval = interval
        self._samples_per_report = samples_per_report
        self._ended = threading.Event()
        self._last = 0

    def stop(self) -> None:
        self._ended.set()
        self._master.close()
        self.join(timeout=5)
        if self._board is not None and not self.is_alive():
            self._board.close()

    def run(self) -> None:
        machine = Machine()
        samples: list[Sample] = []
        while not self._ended.wait(self._interval):
            samples.append(machine.sample())
            if len(samples) < self._samples_per_report:
                continue
            try:
                self._report(samples)
            except ConnectionAbortedError:
                return
            except errors.APIException as error:
                logger.warning("the profiler has stopped: %s", error)
                return
            samples = []

    def _report(self, samples: list[Sample]) -> None:
        self._last = max(int(time.time()), self._last + 1)  # of two reports in a second each has its own
        trial = self._info.trial
        for group in samples[0]:
            averages = average([sample[group] for sample in samples if group in sample])
            if not averages:
                continue
            agent = self._info.agent_id or "agent"
            report = {
                "trialId": trial.trial_id,
                "trialRunId": trial.trial_run_id,
                "stepsCompleted": self._last,
                "metrics": {"avgMetrics": {agent: averages}},
            }
            self._master.post(f"/api/v1/trials/{trial.trial_id}/metrics", {"group": group, "metrics": report})
            if self._board is not None:
                self._board.measured(self._last, group, agent, averages)


def average(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the mean of each name over the samples that have it, also within nested dicts."""
    names = dict.fromkeys(name for sample in samples for name in sample)
    averages: dict[str, Any] = {}
    for name in names:
        values = [sample[name] for sample in samples if name in sample]
        averages[name] = average(values) if isinstance(values[0], dict) else sum(values) / len(values)
    return averages


class Machine:
    """Reads the kernel's counters. Rates refer to the time since the previous sample. Counters that a kernel lacks are
    left out.
    """

    def __init__(self, root: pathlib.Path = pathlib.Path("/proc")) -> None:
        self._proc = root
        self._gpus = shutil.which("nvidia-smi")
        self._before: dict[str, tuple[float, Mapping[str, float]]] = {}
        self.sample()

    def sample(self) -> Sample:
        found: Sample = {}
        for group, measure in (
            ("cpu", self._cpu),
            ("memory", self._memory),
            ("disk", self._disk),
            ("network", self._network),
            ("gpu", self._gpu),
        ):
            with contextlib.suppress(OSError, ValueError, IndexError, subprocess.SubprocessError):
                if measured := measure():
                    found[group] = measured
        return found

    def _rates(self, group: str, counters: Mapping[str, float]) -> dict[str, float]:
        """By how much each counter grew per second."""
        now = time.monotonic()
        before = self._before.get(group)
        self._before[group] = (now, counters)
        if before is None or now <= before[0]:
            return {}
        return {name: (value - before[1].get(name, 0)) / (now - before[0]) for name, value in counters.items()}

    def _cpu(self) -> dict[str, Any]:
        fields = [float(word) for word in (self._proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
        idle = fields[3] + fields[4]
        rates = self._rates("cpu", {"idle": idle, "all": sum(fields)})
        if not rates or rates["all"] <= 0:
            return {}
        return {"cpu_util_simple": 100.0 * (1.0 - rates["idle"] / rates["all"])}

    def _memory(self) -> dict[str, Any]:
        for line in (self._proc / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return {"memory_free": float(line.split()[1]) * 1024}
        return {}

    def _disk(self) -> dict[str, Any]:
        sums = {"disk_iops": 0.0, "disk_throughput_read": 0.0, "disk_throughput_write": 0.0}
        for line in (self._proc / "diskstats").read_text().splitlines():
            words = line.split()
            if words[2].startswith(("loop", "ram", "dm-", "md")) or (self._is_partition(words[2])):
                continue
            sums["disk_iops"] += float(words[3]) + float(words[7])
            sums["disk_throughput_read"] += float(words[5]) * 512
            sums["disk_throughput_write"] += float(words[9]) * 512
        measured: dict[str, Any] = dict(self._rates("disk", sums))
        for path in _DISKS:
            with contextlib.suppress(OSError):
                space = os.statvfs(path)
                used = space.f_blocks - space.f_bfree
                measured[path] = {"disk_util": 100.0 * used / max(used + space.f_bavail, 1)}
        return measured

    @staticmethod
    def _is_partition(name: str) -> bool:
        return pathlib.Path(f"/sys/class/block/{name}/partition").exists()

    def _network(self) -> dict[str, Any]:
        sums = {"net_throughput_recv": 0.0, "net_throughput_sent": 0.0}
        for line in (self._proc / "net" / "dev").read_text().splitlines()[2:]:
            name, _, counters = line.partition(":")
            words = counters.split()
            if name.strip() != "lo":
                sums["net_throughput_recv"] += float(words[0])
                sums["net_throughput_sent"] += float(words[8])
        return dict(self._rates("network", sums))

    def _gpu(self) -> dict[str, Any]:
        if self._gpus is None:
            return {}
        query = "--query-gpu=uuid,utilization.gpu,memory.free"
        done = subprocess.run(
            [self._gpus, query, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        measured: dict[str, Any] = {}
        for line in done.stdout.splitlines():
            uuid, used, free = (word.strip() for word in line.split(","))
            measured[uuid] = {"gpu_util": float(used), "gpu_free_memory": float(free) * (1 << 20)}
        return measured
