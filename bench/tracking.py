"""How fast are metrics written and read: here, in MLflow with SQLite, and in TensorBoard's event files?

Each client writes as its users would: from one loop, in a process of its own. The clients take turns, and a figure is
the median of its turns. What a call guarantees when it returns differs:

- here, the report is durable: synced to the disk, as in MLflow's database. It also goes to TensorBoard's files, unless
  that is turned off (`plain`);
- MLflow writes to SQLite in the client's process (`local`) or through `mlflow server` with its defaults (`server`).
  `log_batch` writes a thousand points in one transaction, for clients that have so many at hand;
- TensorBoard guarantees nothing until its thread writes, every 120 s (`queued`). `flushed` waits until the kernel has
  the data, which survives a killed process but not a power cut; `synced` adds `fsync`.

Then a curve of N points is read whole, as the users of each client would, and as a chart of 1,000 points over HTTP. Our
chart keeps the least and the greatest point of each part; MLflow takes every n-th point; TensorBoard's server keeps a
random sample in memory once it has read all files. Chart times are medians of seven calls.

MLflow and TensorBoard are not in this project's environment. Install them into a separate one and name its Python.
PyTorch, for its `SummaryWriter`, is taken from the interpreter that runs this program.

    python3 -m venv ~/.cache/det-bench/tracking && ~/.cache/det-bench/tracking/bin/pip install mlflow tensorboard
    python bench/tracking.py [--rounds 3] [--seconds 2] [--points 10000 100000] [--python …/tracking/bin/python]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from curves import report_curve
from platform_under_test import ROOT, Platform, circumstances, platform

TRACKERS = ROOT / "bench" / "trackers"
CHART = 1000  # points: the default of TensorBoard's charts
CHART_CALLS = 7
OURS = ("core", "plain", "rest")


class Worker:
    """A running program of trackers/, which carries out one command at a time."""

    def __init__(self, name: str, python: str, program: str, *arguments: str, log: pathlib.Path) -> None:
        self.name, self._log = name, log
        words = [python, str(TRACKERS / program), *arguments]
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env={"PATH": "/usr/bin:/bin", "HOME": str(log.parent), "PYTHONPATH": str(ROOT / "python")},
            )  # fmt: skip

    def tell(self, verb: str, *arguments: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps([verb, *arguments]), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended:\n{self._log.read_text()[-2000:]}")
        return json.loads(line)

    def end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()


def get(url: str, token: str = "") -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=600) as reply:
        return json.loads(reply.read())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serving(words: list[str], url: str, log: pathlib.Path) -> Iterator[None]:
    """Starts a server, waits until it answers, and stops it at the end."""
    with log.open("w") as sink:
        process = subprocess.Popen(words, stdout=sink, stderr=subprocess.STDOUT, cwd=log.parent)
    try:
        for _ in range(1200):
            with contextlib.suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=5):
                break
            if process.poll() is not None:
                raise RuntimeError(f"{words} ended:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def compare(rows: dict[str, list[float]], unit: str, *, more_is_better: bool) -> None:
    """One line per row: median, range, and the ratio to the first row (above 1 is better), round by round."""
    first = next(iter(rows.values()))
    for name, figures in rows.items():
        pairs = zip(figures, first, strict=True)
        ratio = statistics.median(a / b if more_is_better else b / a for a, b in pairs)
        middle, low, high = statistics.median(figures), min(figures), max(figures)
        print(f"  {name:34s} {middle:12,.1f} {unit:9s} ({low:,.1f}–{high:,.1f})  {ratio:.3g}", flush=True)


def write(workers: list[Worker], rounds: int, seconds: float, metrics: int, batched: Sequence[Worker] = ()) -> None:
    """Measures points per second. The workers in `batched` also write a thousand at once."""
    turns = [(one.name, one, metrics) for one in workers]
    turns += [(f"{one.name}, log_batch", one, 1000) for one in batched]
    rows: dict[str, list[float]] = {name: [] for name, _, _ in turns}
    for _ in range(rounds):
        for name, one, count in turns:
            done = one.tell("write", seconds, count)
            rows[name].append(done["points"] / done["seconds"])
    compare(rows, "points/s", more_is_better=True)


def read_whole(curves: dict[str, tuple[Worker, Any]], points: int, rounds: int) -> None:
    rows: dict[str, list[float]] = {name: [] for name in curves}
    for _ in range(rounds):
        for name, (one, curve) in curves.items():
            done = one.tell("whole", curve)
            if done["points"] != points:
                raise RuntimeError(f"{name} read {done['points']} points of {points}")
            rows[name].append(done["seconds"] * 1e3)
    compare(rows, "ms", more_is_better=False)


def draw(charts: dict[str, Callable[[], int]]) -> None:
    """Measures the charts; each name shows how many points its chart has."""
    found = {name: chart() for name, chart in charts.items()}
    rows: dict[str, list[float]] = {f"{name} ({found[name]})": [] for name in charts}
    for _ in range(CHART_CALLS):
        for name, chart in charts.items():
            begin = time.monotonic()
            chart()
            rows[f"{name} ({found[name]})"].append((time.monotonic() - begin) * 1e3)
    if not all(
        CHART / 4 <= points <= CHART + 2 for points in found.values()
    ):  # ours also has the first and the last point
        raise RuntimeError(f"the charts have {found} points; expected about {CHART} each")
    compare(rows, "ms", more_is_better=False)


def our_chart(server: Platform, trial: int) -> int:
    query = {"trialIds": trial, "maxDatapoints": CHART, "metricNames": "loss"}
    reply = server.call("GET", f"/api/v1/trials/time-series?{urllib.parse.urlencode(query)}")
    return len(reply["trials"][0]["metrics"][0]["data"])


def mlflow_chart(url: str, run: str) -> int:
    query = urllib.parse.urlencode({"run_ids": run, "metric_key": "loss", "max_results": CHART})
    return len(get(f"{url}/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?{query}")["metrics"])


def tensorboard_chart(url: str) -> list[Any]:
    """The points of the run `.`: the files directly in the log directory."""
    try:
        found: list[Any] = get(f"{url}/data/plugin/scalars/scalars?run=.&tag=loss")
        return found
    except urllib.error.HTTPError:
        return []  # its server has not read the run yet


class Trackers:
    """Starts all workers and servers; `stack` ends them."""

    def __init__(self, python: str, server: Platform, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self.place = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="det-bench-")))
        self.server, url = server, f"http://127.0.0.1:{server.port}"
        storage = str(self.place / "storage")
        self.ours = [self._worker(f"ours, {how}", sys.executable, "ours.py", how, url, storage) for how in OURS]
        self.mlflow: list[Worker] = []
        self.tensorboard: list[Worker] = []
        if not pathlib.Path(python).exists():
            print(
                f"skipped MLflow and TensorBoard: {python} does not exist; see --help for how to install them",
                file=sys.stderr,
            )
            return
        self.python, self.mlflow_url = python, f"http://127.0.0.1:{free_port()}"
        store = ("--backend-store-uri", f"sqlite:///{self.place}/server.db")
        words = [python, "-m", "mlflow", "server", "--port", self.mlflow_url.rpartition(":")[2], *store]
        stack.enter_context(serving(words, f"{self.mlflow_url}/health", self.place / "mlflow"))
        for where, uri in (("local", f"sqlite:///{self.place}/local.db"), ("server", self.mlflow_url)):
            self.mlflow.append(self._worker(f"MLflow, {where}", python, "mlflow_runs.py", uri))
        packages = importlib.util.find_spec("torch")
        assert packages is not None and packages.origin is not None
        arguments = (str(self.place / "files"), str(pathlib.Path(packages.origin).parents[1]))
        for how in ("queued", "flushed", "synced"):
            name = f"TensorBoard, {how}"
            self.tensorboard.append(self._worker(name, python, "tensorboard_files.py", how, *arguments))

    def _worker(self, name: str, python: str, program: str, *arguments: str) -> Worker:
        started = Worker(name, python, program, *arguments, log=self.place / "errors")
        self._stack.callback(started.end)
        return started

    def all(self) -> list[Worker]:
        return [*self.ours, *self.mlflow, *self.tensorboard]


def read(trackers: Trackers, points: int, rounds: int) -> None:
    trial = report_curve(trackers.server, points)
    curves: dict[str, tuple[Worker, Any]] = {"ours, iter_metrics": (trackers.ours[0], trial)}
    for one in trackers.mlflow:
        curves[f"{one.name}, get_metric_history"] = (one, one.tell("fill", points)["curve"])
    for one in trackers.tensorboard[:1]:
        curves["TensorBoard, EventAccumulator"] = (one, one.tell("fill", points)["curve"])
    print(f"reading a curve of {points:,} points whole (ms; ratio to ours, above 1 is faster)")
    read_whole(curves, points, rounds)
    charts = {"ours": lambda: our_chart(trackers.server, trial)}
    with contextlib.ExitStack() as stack:
        if trackers.mlflow:
            *_, (_, run), (_, files) = curves.values()
            charts["MLflow, server"] = lambda: mlflow_chart(trackers.mlflow_url, run)
            url, begin = f"http://127.0.0.1:{free_port()}", time.monotonic()
            read_files(stack, trackers.python, files, url, points, trackers.place / "tensorboard")
            charts["TensorBoard, server, from memory"] = lambda: len(tensorboard_chart(url))
            print(f"  TensorBoard's server had read the curve {time.monotonic() - begin:.1f} s after its start")
        print(f"its chart of about {CHART:,} points, exact number in brackets (ms; ratio to ours, above 1 is faster)")
        draw(charts)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--points", type=int, nargs="*", default=[10_000, 100_000])
    default = pathlib.Path.home() / ".cache" / "det-bench" / "tracking" / "bin" / "python"
    options.add_argument("--python", default=str(default))
    wanted = options.parse_args()
    rounds, seconds = wanted.rounds, wanted.seconds
    with contextlib.ExitStack() as stack:
        trackers = Trackers(wanted.python, stack.enter_context(platform(server="master")), stack)
        for one in trackers.all():
            one.tell("write", 0.5, 1)  # imports, first pages, first rows
        print(f"points per second, one per report (median of {rounds} turns of {seconds:g} s; ratio to ours, core)")
        write(trackers.all(), rounds, seconds, 1, batched=trackers.mlflow)
        print("points per second, ten per report")
        write(trackers.all(), rounds, seconds, 10)
        for points in wanted.points:
            read(trackers, points, rounds)
    print(f"tracking.py {' '.join(sys.argv[1:])}; {circumstances()}")


def read_files(
    stack: contextlib.ExitStack, python: str, directory: str, url: str, points: int, log: pathlib.Path
) -> None:
    """Starts TensorBoard's server on one curve and waits until it has read the last point."""
    words = [python, "-m", "tensorboard.main", "--logdir", directory, "--port", url.rpartition(":")[2]]
    stack.enter_context(serving(words, url, log))
    deadline = time.monotonic() + 600
    while not (found := tensorboard_chart(url)) or found[-1][1] != points - 1:
        if time.monotonic() > deadline:
            raise RuntimeError(f"TensorBoard has not read {directory} within 10 minutes: {log.read_text()[-2000:]}")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
