"""Runs trials in this process, and ends them at any point."""

from __future__ import annotations

import hashlib
import pathlib
import random
from collections.abc import Mapping
from typing import Any

import loop_oracle
import numpy as np
import torch

from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._run import _launch
from determined._run._local import DirectoryStorage, LocalClient, new_uuid
from determined._run._loop import Loop, Rules
from determined._trial import Trial

try:
    from determined import _runtime

    RULES: Rules = _runtime
except ImportError:  # the tree was built without the C++ module
    RULES = loop_oracle

CONFIG: dict[str, Any] = {
    "searcher": {"metric": "val_loss", "smaller_is_better": True},
    "hyperparameters": {"global_batch_size": 4},
}


def merged(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(left)
    for key, value in right.items():
        both[key] = merged(both[key], value) if isinstance(value, dict) and isinstance(both.get(key), dict) else value
    return both


class Run:
    """One process of a trial, from its start (or its newest checkpoint) on."""

    def __init__(
        self,
        trial_class: type[Trial],
        storage: pathlib.Path,
        *,
        lengths: list[int],
        config: Mapping[str, Any] | None = None,
        checkpoint: str | None = None,
        warm_start: bool = False,
        seed: int = 7,
        preempt_after: int | None = None,
    ) -> None:
        whole = merged(CONFIG, config or {})
        self.env = EnvContext(
            experiment_config=ExperimentConfig(whole),
            hparams=whole["hyperparameters"],
            trial_seed=seed,
            latest_checkpoint=checkpoint,
            warm_start=warm_start,
            use_gpu=False,
        )
        disturb_generators()
        self.client = LocalClient(lengths, preempt_after=preempt_after)
        self.storage = DirectoryStorage(str(storage))
        self.context, self.controller = _launch.build(trial_class, self.env, source=None)
        self.trial: Any = self.controller._trial  # type: ignore[attr-defined]
        self.loop = Loop(
            context=self.context,
            controller=self.controller,
            client=self.client,
            storage=self.storage,
            rules=RULES,
            new_uuid=new_uuid,
        )

    def start(self) -> Run:
        self.loop.start()
        return self

    def steps(self, count: int) -> Run:
        """Does some actions, as long as there are any."""
        for _ in range(count):
            if not self.loop.step():
                break
            self.loop._settle(wait=True)
        return self

    def finish(self) -> Run:
        self.loop.run()
        return self

    def drop(self) -> str | None:
        """Ends this process without ceremony; the newest checkpoint that was reported."""
        self.controller._batches = None  # type: ignore[attr-defined]
        return self.newest_checkpoint()

    def newest_checkpoint(self) -> str | None:
        uuids = [value["uuid"] for kind, _, value in self.client.reports if kind == "checkpoint"]
        return uuids[-1] if uuids else self.env.latest_checkpoint

    def weights(self) -> str:
        """A hash over everything that was trained, to the last bit."""
        digest = hashlib.sha256()
        for model in self.context.models:  # type: ignore[attr-defined]
            for name, tensor in model.state_dict().items():
                digest.update(name.encode() + tensor.cpu().numpy().tobytes())
        return digest.hexdigest()

    def numbers(self) -> dict[tuple[str, int], Any]:
        """All that was reported, save checkpoints, which come when they come."""
        return {(kind, batches): value for kind, batches, value in self.client.reports if kind != "checkpoint"}


def disturb_generators() -> None:
    """A new process finds its generators anywhere."""
    random.seed()
    np.random.seed()
    torch.seed()


def train(trial_class: type[Trial], storage: pathlib.Path, length: int, **options: Any) -> Run:
    """A whole run, from start to end."""
    return Run(trial_class, storage, lengths=[length], **options).start().finish()
