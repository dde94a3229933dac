"""The base of the controllers of TensorFlow trials: starting, and the common part of their checkpoints."""

from __future__ import annotations

import abc
import pathlib
import pickle
from typing import Any, ClassVar

from determined._definition import _trial_files
from determined._definition._source import SourceSnapshot
from determined._tensorflow import _rng
from determined._tensorflow._framework import tf
from determined._trial import TrialController
from determined.common import check

STATE_FILE = "trial-state.pkl"


class TensorFlowController(TrialController):
    """The base of the controllers.

    ``trial-state.pkl`` holds what a trial needs to resume bit-exactly besides the model: random number generators, the
    state of the loop, and the state that only single ranks have.
    """

    family: ClassVar[str]
    format: ClassVar[str]

    def __init__(self, trial: Any, context: Any, source: SourceSnapshot | None = None) -> None:
        self._trial = trial
        self._context = context
        self._source = source
        self._trained = 0

    def start(self, checkpoint: str | None, uuid: str | None, *, weights_only: bool) -> dict[str, Any] | None:
        rest = self._read(pathlib.Path(checkpoint)) if checkpoint else {}
        loop: dict[str, Any] | None = None if weights_only else rest.get("loop")
        self._trained = int(loop["state"]["batches_trained"]) if loop else 0
        self._context._initial_batch = self._trained
        own = _trial_files.of_this_rank(rest, self._context.distributed) if loop else {}
        self._begin(checkpoint, own, weights_only=weights_only)
        if "rng_state" in own:
            _rng.restore(own["rng_state"])
        return loop

    def _read(self, directory: pathlib.Path) -> dict[str, Any]:
        file = directory / STATE_FILE
        if not file.is_file():
            raise FileNotFoundError(
                f"checkpoint {directory.name} has no {STATE_FILE}; it is not a checkpoint of a {self.family}"
            )
        state = pickle.loads(file.read_bytes())
        check.is_instance(state, dict, f"content of {STATE_FILE} in the checkpoint")
        return dict(state)

    @abc.abstractmethod
    def _begin(self, checkpoint: str | None, own: dict[str, Any], *, weights_only: bool) -> None:
        """Prepares everything for the first batch. ``own`` is what ``_own_state`` returned on this rank."""

    @abc.abstractmethod
    def _write(self, directory: pathlib.Path) -> None:
        """Writes the model and its optimizers."""

    def _written(self, directory: pathlib.Path) -> None:
        """Called when everything is written: the user may add files to the checkpoint."""

    def _own_state(self) -> dict[str, Any]:
        """The state that only this rank has."""
        return {"rng_state": _rng.state()}

    def checkpoint_format(self) -> dict[str, Any]:
        return {"framework": f"tensorflow-{tf.__version__}", "format": self.format}

    def save(self, directory: str, loop: dict[str, Any]) -> None:
        context = self._context
        context.distributed.note(f"saving after batch {self._trained}")
        path = pathlib.Path(directory)
        with _rng.untouched():
            rest: dict[str, Any] = {"format": 1, "loop": loop, **self._own_state()}
            if context.distributed.size > 1:
                rest["other_ranks"] = (context.distributed.gather(None) or [])[1:]
            self._write(path)
            (path / STATE_FILE).write_bytes(pickle.dumps(rest, protocol=4))
            _trial_files.write_definition(path, self.family, type(self._trial), context.env, self._source)
            self._written(path)

    def contribute(self) -> None:
        with _rng.untouched():
            self._context.distributed.gather(self._own_state())
