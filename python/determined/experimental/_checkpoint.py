"""One checkpoint: its description, its files, and the model in them."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from determined._definition import _trial_files
from determined.common.api import Session
from determined.errors import CheckpointStateException
from determined.experimental import _checkpoint_files, _loading
from determined.experimental._checkpoint_fields import (
    CheckpointState,
    CheckpointTrainingMetadata,
    DownloadMode,
    ModelFramework,
    as_answer,
)
from determined.experimental._metrics import TrialMetrics, iter_metrics
from determined.experimental._resource import Resource, joined, path_of, time_of

_WITH_FILES = (CheckpointState.COMPLETED, CheckpointState.PARTIALLY_DELETED, CheckpointState.UNSPECIFIED)


class Checkpoint(Resource):
    """A checkpoint of a trial.

    You usually get one from :meth:`Experiment.top_checkpoint`, :meth:`Trial.select_checkpoint` or
    :func:`client.get_checkpoint`. :meth:`download` fetches its files, and :meth:`load` returns the model in them.
    :meth:`load_from_path` needs neither a master nor a cluster.
    """

    def __init__(self, session: Session | None, uuid: str) -> None:
        self._session = session
        self.uuid = uuid
        self.model_name: str | None = None
        self.model_version: int | None = None

    @classmethod
    def _of(cls, session: Session | None, answer: Mapping[str, Any]) -> Checkpoint:
        return cls(session, answer["uuid"])._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        self.task_id: str | None = answer.get("taskId") or None
        self.allocation_id: str | None = answer.get("allocationId") or None
        self.state = CheckpointState(answer.get("state") or "STATE_UNSPECIFIED")
        self.report_time: datetime.datetime | None = time_of(answer.get("reportTime"))
        self.resources: dict[str, int] = {n: int(b) for n, b in (answer.get("resources") or {}).items()}
        self.metadata: dict[str, Any] = dict(answer.get("metadata") or {})
        self.training = CheckpointTrainingMetadata.of(answer.get("training") or {})

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
        """The number of batches that the trial had trained."""
        return int(self.metadata.get("steps_completed") or 0)

    @property
    def start_time(self) -> datetime.datetime | None:
        """The same as :attr:`report_time`, because the start of a checkpoint is not recorded."""
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
        trial = f", trial_id={self.trial_id}" if self._is_read else ""
        return f"Checkpoint(uuid={self.uuid}{trial})"

    def download(self, path: str | os.PathLike[str] | None = None, mode: DownloadMode = DownloadMode.AUTO) -> str:
        """Downloads the files into ``path`` (by default ``checkpoints/<uuid>``) and returns that path.

        Either all files appear, or none. A directory that already contains a checkpoint is left unchanged.

        Raises:
            CheckpointStateException: the checkpoint is deleted or incomplete.
            NoDirectStorageAccess: the mode is ``DownloadMode.DIRECT``, and the storage is not accessible from here.
            FileExistsError: the directory contains other files.
            NotFoundException: the checkpoint does not exist, or its files are gone.
        """
        target = pathlib.Path("checkpoints", self.uuid) if path is None else pathlib.Path(path)
        if any((target / name).exists() for name in ("metadata.json", "MLmodel")):
            return str(target)
        if target.exists() and any(target.iterdir()):
            raise FileExistsError(
                f"the directory {target} is not empty and does not contain a checkpoint; choose an empty or a new "
                "directory"
            )
        if self.state not in _WITH_FILES and self._session is not None:
            self.reload()
        if self.state not in _WITH_FILES:
            raise CheckpointStateException(
                f"checkpoint {self.uuid} is {self.state.name}; only a COMPLETED checkpoint can be downloaded"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = pathlib.Path(tempfile.mkdtemp(prefix=f"{target.name}.part-", dir=target.parent))
        try:
            storage = self.experiment_config.get("checkpoint_storage") or {}
            _checkpoint_files.fetch(self.uuid, storage, mode, self._master, draft)
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

    def write_metadata_file(self, path: str) -> None:
        """Writes the description of the checkpoint as JSON, in the format that :meth:`load_from_path` reads."""
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
        """Downloads the checkpoint and loads it; see :meth:`load_from_path`.

        Raises:
            AssertionError: the checkpoint cannot be loaded; nothing is downloaded.
            ImportError: the checkpoint needs TensorFlow, which is not installed.
        """
        _loading.check(self.uuid, self.framework, self.format, self.resources)
        return Checkpoint.load_from_path(self.download(path), tags=tags, **kwargs)

    @staticmethod
    def load_from_path(path: str | os.PathLike[str], tags: list[str] | None = None, **kwargs: Any) -> Any:
        """Loads a downloaded checkpoint in this process, without a master.

        For a PyTorchTrial that wraps its models, the result is the **trial object** with weights, optimizers and
        schedulers; for one with ``build_model``, it is the bare ``torch.nn.Module``. ``kwargs`` are passed to
        ``torch.load``; ``map_location`` defaults to the CPU. For a TFKerasTrial, the result is its compiled model; for
        an EstimatorTrial, the SavedModel that it exported, selected by ``tags``.

        Raises:
            AssertionError: the framework of the checkpoint is unknown, or it does not contain exactly one SavedModel.
            FileNotFoundError: the directory does not contain a checkpoint.
        """
        metadata = Checkpoint.parse_metadata(pathlib.Path(path))
        if Checkpoint.get_type(metadata) is ModelFramework.TENSORFLOW:
            return _loading.load_tensorflow(pathlib.Path(path), str(metadata.get("format") or ""), tags)
        from determined.pytorch import _load

        return _load.load_model_or_trial(str(path), torch_load_kwargs=kwargs)

    @staticmethod
    def parse_metadata(directory: pathlib.Path) -> dict[str, Any]:
        """Returns the ``metadata.json`` of a checkpoint's directory.

        Raises:
            FileNotFoundError: the directory does not contain a checkpoint.
        """
        file = pathlib.Path(directory) / "metadata.json"
        if not file.is_file():
            raise FileNotFoundError(f"{directory} has no metadata.json: it is not a checkpoint, or it is incomplete")
        return dict(json.loads(file.read_text()))

    @staticmethod
    def get_type(metadata: Mapping[str, Any]) -> ModelFramework:
        """Returns the framework that ``metadata.json`` names, by its current or its former keys.

        Raises:
            AssertionError: the framework is unknown.
        """
        framework = str(metadata.get("framework") or "")
        if framework.startswith("torch") or "torch_version" in metadata:
            return ModelFramework.PYTORCH
        if framework.startswith("tensorflow") or "tensorflow_version" in metadata:
            return ModelFramework.TENSORFLOW
        raise AssertionError(f"the framework of the checkpoint is {framework!r}; it must be torch or tensorflow")

    @staticmethod
    def from_json(data: Mapping[str, Any], master: Session | None = None) -> Checkpoint:
        """Creates a checkpoint from its description, spelled as in the API or in snake_case."""
        return Checkpoint._of(master, as_answer(data))

    def add_metadata(self, metadata: dict[str, Any]) -> None:
        """Sets entries of the checkpoint's metadata at the master. A value replaces the previous one completely."""
        self._write_metadata(joined(self.metadata, metadata))

    def remove_metadata(self, keys: Iterable[str]) -> None:
        """Removes entries of the metadata; names that do not exist are ignored."""
        gone = {keys} if isinstance(keys, str) else set(keys)
        self._write_metadata({name: value for name, value in self.metadata.items() if name not in gone})

    def get_metadata(self) -> dict[str, Any]:
        """Returns the current metadata from the master."""
        self.reload()
        return dict(self.metadata)

    def _write_metadata(self, metadata: dict[str, Any]) -> None:
        body = {"checkpoint": {"uuid": self.uuid, "metadata": metadata}}
        answer = self._master().post(f"{self._path()}/metadata", body)
        self.metadata = dict(answer["checkpoint"]["metadata"])

    def get_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """Returns what was reported at the checkpoint's number of batches."""
        for name in [group] if group else ["training", "validation"]:
            for report in iter_metrics(self._master(), [self.trial_id or 0], name):
                if report.steps_completed == self.batch_number:
                    yield report

    def delete(self) -> None:
        """Deletes the files from storage permanently. The checkpoint stays listed, in state DELETED."""
        self._master().delete("/api/v1/checkpoints", body={"checkpointUuids": [self.uuid]})
        self.reload()

    def remove_files(self, globs: Sequence[str]) -> None:
        """Deletes the files that match a pattern, such as ``["optimizer/**"]``, from storage; all other files stay.

        The state becomes PARTIALLY_DELETED, or DELETED if no file is left. Without a pattern nothing is deleted.
        """
        body = {"checkpointUuids": [self.uuid], "checkpointGlobs": list(globs)}
        self._master().post("/api/v1/checkpoints/rm", body)
        self.reload()

    def reload(self) -> None:
        self._take(self._master().get(self._path())["checkpoint"])

    def _path(self) -> str:
        return path_of("checkpoints", self.uuid)

    def _master(self) -> Session:
        if self._session is None:
            raise ValueError(
                f"checkpoint {self.uuid} is not connected to a master; get it with client.get_checkpoint()"
            )
        return self._session
