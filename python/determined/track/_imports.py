"""Runs that other programs recorded, as directories that :mod:`determined.track` sends."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import shutil
import struct
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from determined import _metrics
from determined.track._journal import FORMAT, Journal
from determined.track._run import home

_BLOCK = 32768  # of W&B's files, whose form is that of LevelDB's logs
_SPACE = uuid.UUID("6f6e9a5e-2d0b-4d1c-9f0e-0c1d6a3b7a11")


@dataclasses.dataclass
class Recorded:
    """A run as it was found. ``points`` has the metrics of each step."""

    key: str  # what it is, the same at each import
    name: str
    project: str | None = None
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    tags: list[str] = dataclasses.field(default_factory=list)
    points: dict[int, dict[str, Any]] = dataclasses.field(default_factory=dict)
    times: dict[int, float] = dataclasses.field(default_factory=dict)
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    events: list[pathlib.Path] = dataclasses.field(default_factory=list)
    files: pathlib.Path | None = None  # a directory
    error: str | None = None

    def add(self, step: int, name: str, value: Any, at: float) -> None:
        self.points.setdefault(step, {})[name] = value
        self.times[step] = at


def tensorboard_runs(path: pathlib.Path) -> Iterator[Recorded]:
    """Each directory with event files is a run, named by its path."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.util import tensor_util
    except ImportError:
        raise ValueError(
            "TensorBoard is not installed, which reads its event files; run: pip install tensorboard"
        ) from None
    for directory in sorted({file.parent for file in path.rglob("*tfevents*") if file.is_file()}):
        relative = directory.relative_to(path).as_posix()
        run = Recorded(str(directory), path.name if relative == "." else relative)
        run.events = sorted(file for file in directory.iterdir() if "tfevents" in file.name)
        board = EventAccumulator(str(directory), {"scalars": 0, "tensors": 0}).Reload()
        for tag in board.Tags()["scalars"]:
            for event in board.Scalars(tag):
                run.add(max(event.step, 0), tag, event.value, event.wall_time)
        for tag in board.Tags()["tensors"]:
            if board.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
                for event in board.Tensors(tag):
                    value = float(tensor_util.make_ndarray(event.tensor_proto))
                    run.add(max(event.step, 0), tag, value, event.wall_time)
        yield run


def mlflow_runs(path: pathlib.Path) -> Iterator[Recorded]:
    """The runs of a directory ``mlruns``, or of one of its experiments."""
    experiments = [path] if (path / "meta.yaml").is_file() else sorted(path.iterdir())
    for experiment in experiments:
        if not (experiment / "meta.yaml").is_file():
            continue
        project = _flat_yaml(experiment / "meta.yaml").get("name") or experiment.name
        for directory in sorted(experiment.iterdir()):
            if not (directory / "meta.yaml").is_file() or not (directory / "metrics").is_dir():
                continue
            meta = _flat_yaml(directory / "meta.yaml")
            run = Recorded(directory.name, meta.get("run_name") or directory.name, project)
            run.config = {name: file.read_text() for name, file in _files_of(directory / "params")}
            tags = {name: file.read_text() for name, file in _files_of(directory / "tags")}
            run.metadata = {"mlflow": {"run_id": directory.name, "tags": tags}}
            for name, file in _files_of(directory / "metrics"):
                for line in file.read_text().splitlines():
                    at, value, step = line.split(" ")[:3]
                    run.add(max(int(step), 0), name, float(value), int(at) / 1000)
            artifacts = directory / "artifacts"
            run.files = artifacts if artifacts.is_dir() and any(artifacts.iterdir()) else None
            if meta.get("status") in ("4", "FAILED"):
                run.error = "MLflow recorded that it failed"
            yield run


def wandb_runs(path: pathlib.Path) -> Iterator[Recorded]:
    """The offline runs below a directory: ``wandb/offline-run-…/run-….wandb``."""
    try:
        from wandb.proto import wandb_internal_pb2
    except ImportError:
        raise ValueError("W&B is not installed, whose package knows its records; run: pip install wandb") from None
    messages: Any = wandb_internal_pb2  # its stub names none of them
    for file in sorted(path.rglob("*.wandb")):
        run = Recorded(file.stem, file.stem)
        start = 0.0
        for data in _log_records(file.read_bytes()):
            record = messages.Record.FromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run.name = record.run.display_name or record.run.run_id
                run.project, run.tags = record.run.project or None, list(record.run.tags)
                start = record.run.start_time.ToMicroseconds() / 1e6
                _set_all(run.config, record.run.config.update)
            elif kind == "config":
                _set_all(run.config, record.config.update)
            elif kind == "summary":
                _set_all(run.metadata, record.summary.update)
            elif kind == "history":
                values: dict[str, Any] = {}
                _set_all(values, record.history.item)
                step = int(record.history.step.num or values.get("_step", 0))
                for name, value in values.items():
                    if not name.startswith("_") and isinstance(value, (int, float)):
                        run.add(step, name, value, float(values.get("_timestamp", start)))
            elif kind == "exit" and record.exit.exit_code != 0:
                run.error = f"its process ended with status {record.exit.exit_code}"
        run.config.pop("_wandb", None)
        run.metadata = {name: value for name, value in run.metadata.items() if not name.startswith("_")}
        files = file.parent / "files"
        run.files = files if files.is_dir() and any(files.iterdir()) else None
        yield run


def write(run: Recorded, kind: str, project: str | None, workspace: str | None) -> pathlib.Path:
    """Writes the run's directory; what was sent of it stays so if nothing has changed."""
    identifier = str(uuid.uuid5(_SPACE, f"{kind} {run.key} {workspace} {project}"))
    path = home() / f"import-{kind}-{identifier}"
    (path / "events").mkdir(parents=True, exist_ok=True)
    journal = Journal(path)
    if not (path / "run.json").exists():
        described = {
            "format": FORMAT,
            "id": identifier,
            "name": run.name,
            "project": project or run.project,
            "workspace": workspace,
            "config": json.loads(_metrics.to_json(run.config)),
            "tags": [kind, *run.tags],
        }
        journal.put("run.json", described)
    for file in run.events:
        shutil.copy2(file, path / "events" / file.name)
    records: list[dict[str, Any]] = [
        {"kind": "metrics", "time": run.times[step], "group": "training", "step": step, "metrics": run.points[step]}
        for step in sorted(run.points)
    ]
    last = max(run.times.values(), default=0.0)
    if run.metadata:
        records.append({"kind": "metadata", "time": last, "metadata": run.metadata})
    if run.files is not None:
        records.append(_artifact(path, run.files, identifier, max(run.points, default=0), last))
    records.append({"kind": "end", "time": last, "error": run.error})
    text = "".join(_metrics.to_json(record) + "\n" for record in records)
    known = path / "journal.jsonl"
    if not known.exists() or known.read_text() != text:
        journal.sent = 0  # what the master has is accepted again
        known.write_text(text)
    return path


def _artifact(path: pathlib.Path, source: pathlib.Path, identifier: str, step: int, at: float) -> dict[str, Any]:
    """The files as an artifact whose UUID says what is in it, so that it is stored once."""
    listed = [
        f"{file.relative_to(source).as_posix()} {file.stat().st_size} {file.stat().st_mtime_ns}"
        for file in sorted(source.rglob("*"))
        if file.is_file()
    ]
    name = str(uuid.uuid5(_SPACE, "\n".join([identifier, *listed])))
    kept = path / "files" / name
    if not kept.exists():
        shutil.copytree(source, kept)
    return {"kind": "artifact", "time": at, "uuid": name, "name": source.name, "step": step, "metadata": {}}


def _files_of(directory: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """The files below a directory; a name with a slash is one in a subdirectory."""
    for file in sorted(directory.rglob("*")):
        if file.is_file():
            yield unquote(file.relative_to(directory).as_posix()), file


def _flat_yaml(file: pathlib.Path) -> dict[str, str]:
    """The plain members of MLflow's meta.yaml, which has one a line."""
    found = {}
    for line in file.read_text().splitlines():
        name, colon, value = line.partition(": ")
        if colon and not name.startswith((" ", "-")):
            found[name] = value.strip().strip("'\"")
    return found


def _set_all(target: dict[str, Any], items: Any) -> None:
    for item in items:
        name = item.key or "/".join(item.nested_key)
        value = json.loads(item.value_json)
        target[name] = str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _log_records(data: bytes) -> Iterator[bytes]:
    """The records of a log of LevelDB behind W&B's header of 7 bytes; a file that is cut off has fewer."""
    if not data.startswith(b":W&B"):
        raise ValueError("the file is no log of W&B: it does not begin with ':W&B'")
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = _BLOCK - at % _BLOCK
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        if kind == 0 or at + 7 + length > len(data):
            return
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""


READERS = {"tensorboard": tensorboard_runs, "mlflow": mlflow_runs, "wandb": wandb_runs}


def import_runs(kind: str, path: pathlib.Path, project: str | None, workspace: str | None) -> list[pathlib.Path]:
    """Writes a directory for each run. Raises FileNotFoundError or ValueError: there is none, or none can be read."""
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is no directory; pass the one in which the runs are")
    written = [write(run, kind, project, workspace) for run in READERS[kind](path.absolute())]
    if not written:
        raise ValueError(f"{path} has no run of {kind}; pass the directory in which its runs are")
    return written
