"""Prints every number of a small run: for comparing a fresh process with a fork of a warm one.

Usage: warm_numbers.py cold|warm DIRECTORY, where DIRECTORY holds the model definition.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from determined.exec import warm  # noqa: E402

ENVIRONMENT = {"OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "0", "PATH": os.environ["PATH"], "COLOUR": "of the task"}


def run(directory: str) -> dict[str, object]:
    from determined._definition._source import SourceSnapshot
    from determined._env import EnvContext
    from determined._experiment_config import ExperimentConfig
    from determined._run import _launch

    config = ExperimentConfig({"entrypoint": "model_def:MyTrial", "searcher": {"metric": "val_loss"}})
    env = EnvContext(experiment_config=config, hparams={"global_batch_size": 4}, trial_seed=5, use_gpu=False)
    trial_class = _launch.load(env, SourceSnapshot(_launch.enter(directory)))

    import torch
    from harness import RULES

    from determined._run._local import DirectoryStorage, LocalClient, new_uuid
    from determined._run._loop import Loop

    context, controller = _launch.build(trial_class, env, source=None)
    with tempfile.TemporaryDirectory() as place:
        client = LocalClient([20])
        loop = Loop(
            context=context,
            controller=controller,
            client=client,
            storage=DirectoryStorage(place),
            rules=RULES,
            new_uuid=new_uuid,
        )
        loop.start()
        loop.run()
        controller.close()
    return {
        "reports": [report for report in client.reports if report[0] != "checkpoint"],
        "at import": sys.modules["model_def"].AT_IMPORT,
        "threads": torch.get_num_threads(),
        "environment": {name: value for name, value in os.environ.items() if name in ENVIRONMENT or name == "LEFT"},
        "directory": os.getcwd(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "grad": torch.is_grad_enabled(),
        "dtype": str(torch.get_default_dtype()),
        "path": sys.path[0],
    }


def main() -> None:
    kind, directory = sys.argv[1:]
    if kind == "cold":
        if os.environ.get("COLOUR") != ENVIRONMENT["COLOUR"]:
            os.execve(sys.executable, [sys.executable, *sys.argv], ENVIRONMENT)
        print(json.dumps(run(directory)))
        return
    warm.warm_up()
    assert warm.threads_of_this_process() == 1
    if os.fork() == 0:
        os.environ.clear()
        os.environ.update({**ENVIRONMENT, "LEFT": "over"})
        os.environ.pop("LEFT")
        warm.take_environment()
        warm.take_import_path()
        print(json.dumps(run(directory)), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0


if __name__ == "__main__":
    main()
