"""One checkpoint: what it is, where its files are, and what can be made of them."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import os
import pathlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from determined import _trial_files
from determined.common.api import Session
from determined.experimental._metrics import TrialMetrics
from determined.experimental._resource import comparable, numbers, time_of

_CONTAINER_ROOT = "/determined_shared_fs"


class ModelFramework(enum.Enum):
    """Which framework wrote a checkpoint."""

    PYTORCH = 1
    TENSORFLOW = 2


class CheckpointState(enum.Enum):
    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"


class DownloadMode(enum.Enum):
    """Where :meth:`Checkpoint.download` takes the files from."""

    DIRECT = "direct"
    """The storage, as this machine sees it."""
    MASTER = "master"
    AUTO = "auto"
    """The storage if it can be seen from here, else the master."""


class CheckpointSortBy(enum.Enum):
    UUID = "SORT_BY_UUID"
    TRIAL_ID = "SORT_BY_TRIAL_ID"
    BATCH_NUMBER = "SORT_BY_BATCH_NUMBER"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    SEARCHER_METRIC = "SORT_BY_SEARCHER_METRIC"


@dataclasses.dataclass(frozen=True)
class CheckpointTrainingMetadata:
    """Where a checkpoint comes from. Metrics are those reported at the checkpoint's number of batches."""

    experiment_config: dict[str, Any]
    experiment_id: int | None
    trial_id: int | None
    hparams: dict[str, Any]
    training_metrics: dict[str, Any]
    validation_metrics: dict[str, Any]
    searcher_metric: float | None


class Checkpoint:
    """A checkpoint of a trial.

    Usually got from :meth:`Experiment.top_checkpoint`, :meth:`Trial.select_checkpoint` or
    :func:`client.get_checkpoint`. Its files can be fetched with :meth:`download` and turned into a model with
    :meth:`load`; :meth:`load_from_path` needs neither a master nor a cluster.
    """

    def __init__(self, session: Session | None, answer: Mapping[str, Any]) -> None:
        self._session = session
        self._read(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        training = answer.get("training") or {}
        metadata = dict(answer.get("metadata") or {})
        self.uuid: str = answer["uuid"]
        self.task_id: str | None = answer.get("taskId") or None
        self.allocation_id: str | None = answer.get("allocationId") or None
        self.state = CheckpointState(answer.get("state") or "STATE_UNSPECIFIED")
        self.report_time: datetime.datetime | None = time_of(answer.get("reportTime"))
        self.resources: dict[str, int] = {n: int(b) for n, b in (answer.get("resources") or {}).items()}
        self.metadata: dict[str, Any] = metadata
        self.training = CheckpointTrainingMetadata(
            experiment_config=training.get("experimentConfig") or {},
            experiment_id=training.get("experimentId"),
            trial_id=training.get("trialId"),
            hparams=training.get("hparams") or {},
            training_metrics=numbers((training.get("trainingMetrics") or {}).get("avgMetrics")),
            validation_metrics=numbers((training.get("validationMetrics") or {}).get("avgMetrics")),
            searcher_metric=comparable(training.get("searcherMetric")),
        )
        self.model_name: str | None = None
        self.model_version: int | None = None

    # The names that older programs use.
    @property
    def experiment_config(self) -> dict[str, Any]:
        return self.training.experiment_config

    @property
    def experiment_id(self) -> int | None:
        return self.training.experiment_id

    @property
    def trial_id(self) -> int | None:
        return self.training.trial_id

    @property
    def hparams(self) -> dict[str, Any]:
        return self.training.hparams

    @property
    def batch_number(self) -> int:
        """How many batches had been trained."""
        return int(self.metadata.get("steps_completed") or 0)

    @property
    def start_time(self) -> datetime.datetime | None:
        """The same as :attr:`report_time`; a checkpoint's beginning is not recorded."""
        return self.report_time

    @property
    def end_time(self) -> datetime.datetime | None:
        return self.report_time

    @property
    def validation(self) -> dict[str, Any]:
        """``{"metrics": {"validationMetrics": {…}}, "state": …}`` of the validation at the same batches."""
        metrics = self.training.validation_metrics
        return {"metrics": {"validationMetrics": metrics}, "state": "STATE_COMPLETED" if metrics else None}

    @property
    def framework(self) -> str:
        return str(self.metadata.get("framework") or "")

    @property
    def format(self) -> str:
        return str(self.metadata.get("format") or "")

    @property
    def determined_version(self) -> str:
        return str(self.metadata.get("determined_version") or "")

    def __repr__(self) -> str:
        return f"Checkpoint(uuid={self.uuid}, trial_id={self.trial_id})"

    def download(self, path: str | os.PathLike[str] | None = None, mode: DownloadMode = DownloadMode.AUTO) -> str:
        """Fetches the files into ``path`` (``checkpoints/<uuid>``) and returns that path.

        The files appear all or not at all. A directory that holds a checkpoint already is left as it is.

        Raises:
            FileNotFoundError: with ``DownloadMode.DIRECT``, the storage can't be seen from here.
            FileExistsError: the directory holds something else.
            NotFoundException: the checkpoint or its files are deleted.
        """
        target = pathlib.Path("checkpoints", self.uuid) if path is None else pathlib.Path(path)
        if any((target / name).exists() for name in ("metadata.json", "MLmodel")):
            return str(target)
        if target.exists() and any(target.iterdir()):
            raise FileExistsError(f"the directory {target} is not empty, and what it holds is no checkpoint")
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = pathlib.Path(tempfile.mkdtemp(prefix=f"{target.name}.part-", dir=target.parent))
        try:
            self._fill(draft, mode)
            if not (draft / "metadata.json").exists():
                self.write_metadata_file(str(draft / "metadata.json"))
            _trial_files.add_older_name(draft)
            draft.chmod(0o755)
            if target.exists():
                target.rmdir()
            os.replace(draft, target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return str(target)

    def _fill(self, draft: pathlib.Path, mode: DownloadMode) -> None:
        if mode is not DownloadMode.MASTER:
            places = [place / self.uuid for place in self._places()]
            for place in places:
                if place.is_dir():
                    shutil.copytree(place, draft, dirs_exist_ok=True)
                    return
            if mode is DownloadMode.DIRECT:
                kind = (self.experiment_config.get("checkpoint_storage") or {}).get("type")
                seen = ", ".join(map(str, places)) or f"storage of type {kind}"
                raise FileNotFoundError(f"the files of checkpoint {self.uuid} can't be seen from here: {seen}")
        with tempfile.TemporaryFile() as archive:
            self._master().download(f"/checkpoints/{self.uuid}", archive)
            archive.seek(0)
            with tarfile.open(fileobj=archive, mode="r:gz") as members:
                _extract(members, draft)

    def _places(self) -> Iterator[pathlib.Path]:
        """Where a shared file system would show the files."""
        storage = self.experiment_config.get("checkpoint_storage") or {}
        if storage.get("type") == "directory":
            yield pathlib.Path(storage["container_path"])
        elif storage.get("type") == "shared_fs":
            host, below = pathlib.Path(storage["host_path"]), storage.get("storage_path") or ""
            yield host / below
            inside = pathlib.Path(below)
            if inside.is_absolute():
                inside = inside.relative_to(host) if inside.is_relative_to(host) else pathlib.Path()
            yield _CONTAINER_ROOT / inside

    def write_metadata_file(self, path: str) -> None:
        """Writes what is known of the checkpoint as JSON: the form that :meth:`load_from_path` reads."""
        described = {
            "determined_version": self.determined_version,
            "framework": self.framework,
            "format": self.format,
            "experiment_id": self.experiment_id,
            "trial_id": self.trial_id,
            "hparams": self.hparams,
            "experiment_config": self.experiment_config,
            "metadata": self.metadata,
        }
        pathlib.Path(path).write_text(json.dumps(described, indent=2) + "\n")

    def load(self, path: str | os.PathLike[str] | None = None, tags: list[str] | None = None, **kwargs: Any) -> Any:
        """Downloads the checkpoint and loads it; see :meth:`load_from_path`."""
        return Checkpoint.load_from_path(self.download(path), tags=tags, **kwargs)

    @staticmethod
    def load_from_path(path: str | os.PathLike[str], tags: list[str] | None = None, **kwargs: Any) -> Any:
        """What a downloaded checkpoint holds, in this process; no master is asked.

        A trial that wraps its models gives the **trial object**, with weights, optimizers and schedulers; a classic
        trial (``build_model``) gives the bare ``torch.nn.Module``. ``kwargs`` go to ``torch.load``: ``map_location``
        is the CPU unless given. ``tags`` are for TensorFlow's saved models.

        Raises:
            AssertionError: the checkpoint is of no known framework.
            FileNotFoundError: the directory holds no checkpoint.
        """
        kind = Checkpoint.get_type(Checkpoint.parse_metadata(pathlib.Path(path)))
        if kind is not ModelFramework.PYTORCH:
            raise AssertionError(f"the checkpoint in {path} is one of TensorFlow; only PyTorch can be loaded here")
        from determined.pytorch import _load

        return _load.load_model_or_trial(str(path), torch_load_kwargs=kwargs)

    @staticmethod
    def parse_metadata(directory: pathlib.Path) -> dict[str, Any]:
        """The ``metadata.json`` of a checkpoint's directory.

        Raises:
            FileNotFoundError: there is none; the directory holds no checkpoint.
        """
        file = pathlib.Path(directory) / "metadata.json"
        if not file.is_file():
            raise FileNotFoundError(f"{directory} has no metadata.json; it is not a checkpoint, or not a complete one")
        return dict(json.loads(file.read_text()))

    @staticmethod
    def get_type(metadata: Mapping[str, Any]) -> ModelFramework:
        """Which framework ``metadata.json`` names, by today's keys or those of old.

        Raises:
            AssertionError: none that is known.
        """
        framework = str(metadata.get("framework") or "")
        if framework.startswith("torch") or "torch_version" in metadata:
            return ModelFramework.PYTORCH
        if framework.startswith("tensorflow") or "tensorflow_version" in metadata:
            return ModelFramework.TENSORFLOW
        raise AssertionError(f"unknown checkpoint format: framework is {framework!r}; must be torch or tensorflow")

    @staticmethod
    def from_json(data: Mapping[str, Any], master: Session | None = None) -> Checkpoint:
        """A checkpoint from its description, in the API's spelling or in snake_case."""
        return Checkpoint(master, _camel(data))

    def add_metadata(self, metadata: dict[str, Any]) -> None:
        """Sets entries of the checkpoint's metadata, at the master at once. A value replaces the whole old one."""
        self._write_metadata({**self.metadata, **metadata})

    def remove_metadata(self, keys: Iterable[str]) -> None:
        """Removes entries; names that are not there are no error."""
        gone = {keys} if isinstance(keys, str) else set(keys)
        self._write_metadata({name: value for name, value in self.metadata.items() if name not in gone})

    def get_metadata(self) -> dict[str, Any]:
        """The metadata as the master has it now."""
        self.reload()
        return dict(self.metadata)

    def _write_metadata(self, metadata: dict[str, Any]) -> None:
        body = {"checkpoint": {"uuid": self.uuid, "metadata": metadata}}
        answer = self._master().post(f"/api/v1/checkpoints/{self.uuid}/metadata", body)
        self.metadata = dict(answer["checkpoint"]["metadata"])

    def get_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """What was reported at the checkpoint's number of batches."""
        from determined.experimental._metrics import iter_metrics

        for name in [group] if group else ["training", "validation"]:
            for report in iter_metrics(self._master(), [self.trial_id or 0], name):
                if report.steps_completed == self.batch_number:
                    yield report

    def delete(self) -> None:
        """Deletes the files from storage, for good. The row stays, in state DELETED."""
        self._master().delete("/api/v1/checkpoints", body={"checkpointUuids": [self.uuid]})
        self.reload()

    def reload(self) -> None:
        """Reads all attributes again."""
        name, version = self.model_name, self.model_version
        self._read(self._master().get(f"/api/v1/checkpoints/{self.uuid}")["checkpoint"])
        self.model_name, self.model_version = name, version

    def _master(self) -> Session:
        if self._session is None:
            raise ValueError(f"checkpoint {self.uuid} was made without a master; get it from client.get_checkpoint()")
        return self._session


def _extract(members: tarfile.TarFile, directory: pathlib.Path) -> None:
    """Files and directories only, and none outside ``directory``."""
    for member in members:
        path = pathlib.PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise ValueError(f"the archive of the checkpoint holds {member.name!r}, which is not a file below it")
        target = directory / path
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        content = members.extractfile(member)
        assert content is not None
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)


def _camel(data: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "task_id": "taskId",
        "allocation_id": "allocationId",
        "report_time": "reportTime",
        "end_time": "reportTime",
        "endTime": "reportTime",
    }
    inner = {
        "experiment_config": "experimentConfig",
        "experiment_id": "experimentId",
        "trial_id": "trialId",
        "experimentConfig": "experimentConfig",
        "experimentId": "experimentId",
        "trialId": "trialId",
        "hparams": "hparams",
        "training_metrics": "trainingMetrics",
        "validation_metrics": "validationMetrics",
        "searcher_metric": "searcherMetric",
    }
    answer = {names.get(name, name): value for name, value in data.items()}
    training = dict(answer.get("training") or {})
    for name, value in {**training, **answer}.items():
        if name in inner:
            training[inner[name]] = value
    metadata = dict(answer.get("metadata") or {})
    for name in ("framework", "format", "determined_version"):
        if data.get(name):
            metadata.setdefault(name, data[name])
    for name in ("batch_number", "batchNumber"):
        if name in data:
            metadata.setdefault("steps_completed", data[name])
    return {**answer, "training": training, "metadata": metadata}
