"""Runs TensorBoard as a task: ``python -m determined.exec.tensorboard [arguments of tensorboard]``.

``DET_TENSORBOARD_EXPERIMENT_IDS`` and ``DET_TENSORBOARD_TRIAL_IDS`` list what it shows, separated by commas; of an
experiment it shows all trials, up to a hundred. The files are in the checkpoint storage of each experiment.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from determined._compat import zip_strict
from determined.exec import _measured, _service

PACKAGES = ("tensorboard==2.20.0", "setuptools<81")  # it imports pkg_resources, which later ones do not have
TRIALS_MAX = 100
_FOLLOW_SECONDS = 5.0
_QUIET_SECONDS = 40.0  # a page that is open asks every thirty seconds


def main() -> int:
    """Serves until it is ended; returns the exit status."""
    service = _service.Service()
    python = _service.environment_with("tensorboard", "TensorBoard", *PACKAGES)
    if python is not None:
        sys.stdout.flush()
        os.execv(python, [python, "-m", "determined.exec.tensorboard", *sys.argv[1:]])
    _service.end_on_signals()
    try:
        directories, buckets = log_directories(service, _ids("EXPERIMENT"), _ids("TRIAL"))
    except (_service.Refused, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, directory in directories.items():
        print(f"{name}: {directory}{'' if directory.is_dir() else ' (empty so far)'}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tensorboard-buckets-") as copies:
        for name, bucket in buckets.items():
            print(f"{name}: {bucket}", flush=True)
            directories[name] = pathlib.Path(copies) / name
            directories[name].mkdir()
        if buckets:
            following = [(bucket, directories[name]) for name, bucket in buckets.items()]
            threading.Thread(target=follow_buckets, args=(following,), daemon=True).start()
        with tempfile.TemporaryDirectory(prefix="tensorboard-machines-") as machines:
            directories |= follow_machines(service, directories, pathlib.Path(machines))
            serve(service, directories, sys.argv[1:])
    return 0


def follow_machines(
    service: _service.Service, directories: dict[str, pathlib.Path], place: pathlib.Path
) -> dict[str, pathlib.Path]:
    """Starts to write what the profilers of these trials report. Returns the directories, by names in TensorBoard."""
    written = {f"{name}, machine": place / str(number) for number, name in enumerate(directories)}
    measured = [
        _measured.Measured(service, int(name.rpartition(" ")[2]), own, directory)
        for (name, own), directory in zip_strict(directories.items(), written.values())
    ]
    threading.Thread(target=_measured.follow, args=(measured,), daemon=True).start()
    return written


def follow_buckets(following: list[tuple[Any, pathlib.Path]]) -> None:
    """Updates copies of what is in buckets, for as long as this process runs."""
    said = ""
    while True:
        for bucket, directory in following:
            try:
                bucket.mirror(directory)
            except OSError as error:
                if str(error) != said:
                    print(f"{bucket} cannot be read: {error}", file=sys.stderr, flush=True)
                said = str(error)
        time.sleep(_FOLLOW_SECONDS)


def log_directories(
    service: _service.Service, experiments: Iterable[int], trials: Iterable[int]
) -> tuple[dict[str, pathlib.Path], dict[str, Any]]:
    """Returns the places of the event files of these trials, by their names in TensorBoard: directories and buckets.

    Raises:
        Refused: an experiment or a trial does not exist.
        ValueError: TensorBoard cannot read the checkpoint storage of an experiment.
    """
    from determined.tensorboard._board import storage_place

    wanted: dict[int, int] = {}  # the experiment of each trial
    for trial in trials:
        found = service.call("GET", f"/api/v1/trials/{trial}")["trial"]
        wanted[trial] = int(found["experimentId"])
    for experiment in experiments:
        listed = service.call("GET", f"/api/v1/experiments/{experiment}/trials?limit={TRIALS_MAX}")["trials"]
        wanted.update({int(trial["id"]): experiment for trial in listed})
    directories: dict[str, pathlib.Path] = {}
    buckets: dict[str, Any] = {}
    roots: dict[int, Any] = {}
    cluster = str(service.call("GET", "/api/v1/master")["clusterId"])
    for trial, experiment in sorted(wanted.items())[:TRIALS_MAX]:
        if experiment not in roots:
            config = service.call("GET", f"/api/v1/experiments/{experiment}")["experiment"]["config"]
            storage = config.get("checkpoint_storage") or {}
            root = storage_place(storage)
            if root is None:
                raise ValueError(
                    f"experiment {experiment} keeps its checkpoints on {storage.get('type')!r}; TensorBoard reads "
                    "shared_fs, directory, s3 and gcs"
                )
            roots[experiment] = root
        kept = roots[experiment] / cluster / "tensorboard" / "experiment" / str(experiment) / "trial" / str(trial)
        kind = directories if isinstance(kept, pathlib.Path) else buckets
        kind[f"experiment {experiment}, trial {trial}"] = kept
    return directories, buckets


def serve(service: _service.Service, directories: dict[str, Any], arguments: list[str]) -> None:
    """Runs TensorBoard in this process."""
    from tensorboard import default, program

    last = time.monotonic()

    def guarded(application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
        def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            nonlocal last
            if not service.allows(environ.get("HTTP_AUTHORIZATION")):
                start_response("401 Unauthorized", [("Content-Type", "text/plain")])
                return [b"use TensorBoard through its master\n"]
            last = time.monotonic()
            return application(environ, start_response)

        return answer

    class Server(program.WerkzeugServer):  # type: ignore[misc]
        def __init__(self, application: Any, flags: Any) -> None:
            super().__init__(guarded(application), flags)

    with tempfile.TemporaryDirectory(prefix="tensorboard-") as shown:
        for name, directory in directories.items():
            (pathlib.Path(shown) / name).symlink_to(directory, target_is_directory=True)
        board = program.TensorBoard(default.get_plugins(), server_class=Server)
        board.configure(
            argv=[
                *("tensorboard", "--logdir", shown, "--host", service.host, "--port", "0"),
                *("--path_prefix", service.base.rstrip("/"), "--reload_interval", "5"),
                *("--load_fast", "false", *arguments),
            ]
        )
        url = board.launch()  # answers from here on
        port = int(url.split("/")[2].rpartition(":")[2])
        service.ready(port)
        print(f"TensorBoard is running at: {service.base}", flush=True)
        service.watch(lambda: time.monotonic() - last > _QUIET_SECONDS)
        threading.Event().wait()


def _ids(kind: str) -> list[int]:
    return [int(word) for word in os.environ.get(f"DET_TENSORBOARD_{kind}_IDS", "").split(",") if word]


if __name__ == "__main__":
    sys.exit(main())
