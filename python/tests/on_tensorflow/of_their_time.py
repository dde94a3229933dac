"""Runs the model definitions of ``of_that_time/`` as the platform does: each time in a process of its own."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pathlib
import pickle
import sys
import traceback
from collections.abc import Mapping
from typing import Any

HERE = pathlib.Path(__file__).parent
LENGTH = 10
FIRST = "determinedai/environments:cuda-10.0-pytorch-1.4-tf-1.15-gpu-0.8.0"
SECOND = "determinedai/environments:cuda-11.0-pytorch-1.7-tf-2.4-gpu-0.9.0"
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["torch", "runs", "imported_once"])


def searcher(metric: str, *, steps: bool = False) -> dict[str, Any]:
    """The section as the master hands it to the trial, in either generation's form."""
    length = {"max_length": {"batches": LENGTH}}
    return {"name": "single", "metric": metric, **({"max_steps": 2} if steps else {}), **length}


def config_of(metric: str, *, steps: bool = False, image: str | None = None) -> dict[str, Any]:
    found = {
        "searcher": searcher(metric, steps=steps),
        "hyperparameters": {"global_batch_size": 4, "learning_rate": 0.01},
    }
    return {**found, "environment": {"image": image}} if image is not None else found


def values(controller: Any) -> dict[str, Any]:
    """Everything that was trained."""
    if hasattr(controller, "_model"):
        optimizers = [one for optimizer in controller._context.optimizers for one in optimizer.variables()]
        return {str(at): one.numpy() for at, one in enumerate([*controller._model.weights, *optimizers])}
    session = controller._session if hasattr(controller, "_session") else controller._trainer.sess
    found = controller._graph.get_collection("variables")
    return dict(zip([one.name for one in found], session.run(found), strict=True))


def process(
    family: str, entrypoint: str, config: Mapping[str, Any], storage: str, options: Mapping[str, Any], answer: str
) -> None:
    """A process of a trial; ``answer`` gets what it left, or how it failed."""
    import runs
    from harness import Run

    from determined._definition._source import SourceSnapshot
    from determined._env import EnvContext
    from determined._experiment_config import ExperimentConfig
    from determined._run import _launch

    lines: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("determined").addHandler(handler)
    logging.getLogger("determined").setLevel(logging.INFO)
    try:
        directory = str(HERE / "of_that_time" / family)
        sys.path[:0] = [directory]
        start: dict[str, Any] = {"entrypoint": entrypoint}
        if ":" not in entrypoint:  # a script of the Native API
            start = {"internal": {"native": {"command": entrypoint.split()}}}
        whole = {**runs.CONFIG, **config, **start}
        env = EnvContext(
            experiment_config=ExperimentConfig(whole), hparams=whole["hyperparameters"], trial_seed=runs.SEED
        )
        trial_class = _launch.load(env, SourceSnapshot(directory))
        run = Run(trial_class, pathlib.Path(storage), lengths=[LENGTH], config=whole, seed=runs.SEED, **options)
        run.start().finish()
        kept = runs.digest(values(run.controller)) if options.get("preempt_after") is None else None
        found: Any = {"digest": kept, "numbers": run.numbers(), "checkpoint": run.newest_checkpoint(), "log": lines}
        run.controller.close()
    except BaseException:
        found = {"error": traceback.format_exc()}
    pathlib.Path(answer).write_bytes(pickle.dumps(found))


class Piece:
    """One process of a trial, under way."""

    def __init__(self, case: tuple[str, str, Mapping[str, Any]], storage: pathlib.Path, **options: Any) -> None:
        self._answer = storage / f"answer-{len(list(storage.glob('answer-*')))}"
        self._answer.touch()
        self._process = FORKS.Process(target=process, args=(*case, str(storage), options, str(self._answer)))
        self._process.start()

    def result(self) -> dict[str, Any]:
        self._process.join(240)
        found: dict[str, Any] = pickle.loads(self._answer.read_bytes())
        assert "error" not in found, found["error"]
        return found


def environment(patch: Any) -> None:
    """What the processes need to find, before the first of them starts."""
    for name, value in {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}.items():
        patch.setenv(name, value)
    patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (HERE, HERE.parent, HERE.parents[1]))))


def assert_trains_validates_and_resumes(
    family: str, entrypoint: str, config: Mapping[str, Any], storage: pathlib.Path
) -> dict[str, Any]:
    """Also: a trial that gave way ends with the same bits, and says the same of the batches that both did."""
    case = (family, entrypoint, config)
    straight, before = Piece(case, storage), Piece(case, storage, preempt_after=5)
    after = Piece(case, storage, checkpoint=before.result()["checkpoint"]).result()
    whole = straight.result()
    assert config["searcher"]["metric"] in whole["numbers"]["validation", LENGTH]
    assert {key: whole["numbers"][key] for key in after["numbers"]} == after["numbers"]
    assert after["numbers"] and whole["digest"] == after["digest"]
    return whole
