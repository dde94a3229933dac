"""Runs one process of a trial: ``python -m determined.exec.trial`` with the ``DET_*`` variables set by the agent.

Ends with status 0 when the trial is done, paused or closed; 80 when the master has ended the allocation; 1 when the
trial failed, with the reason on stderr.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from determined import _failure, _launch
from determined._env import EnvContext
from determined._loop import Loop
from determined._runtime_api import EXIT_GONE, Client
from determined._source import SourceSnapshot
from determined.errors import InvalidConfigurationException, InvalidHP
from determined.exec import _ending, _output, _requirements, _script

_CONTAINER_ROOT = "/determined_shared_fs"


def main() -> int:
    """Runs the trial that the environment describes and returns the status to exit with."""
    _output.set_up(debug=os.environ.get("DET_DEBUG", "").lower() in ("1", "true"))
    if (command := _script.command_of(os.environ)) is not None:
        return _script.run(command, os.environ)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic matrix products on a GPU
    try:
        _requirements.enter(_work_directory(), ["-m", "determined.exec.trial"])
    except BaseException as error:  # InvalidExperimentException is one
        if isinstance(error, KeyboardInterrupt):
            raise
        _failure.report(error)
        return 1
    try:
        from determined import _runtime
    except ImportError as error:
        print(f"the trial runtime is not installed: {error}", file=sys.stderr)
        return 1
    try:
        client = _runtime.Client.from_environment()
    except _runtime.Gone:
        return EXIT_GONE
    except Exception as error:
        _failure.report(error)
        return 1
    status = 1
    try:
        status = _run(client, _runtime)
    except _runtime.Gone:
        return EXIT_GONE
    except (Exception, SystemExit) as error:
        _failure.report(error)
    except BaseException as error:  # InvalidExperimentException and its kin
        if isinstance(error, KeyboardInterrupt):
            raise
        _failure.report(error)
    try:
        client.close()
    except _runtime.Gone:
        return EXIT_GONE
    except Exception as error:
        _failure.report(error)
        return 1
    return status


def _run(client: Client, runtime: Any) -> int:
    env = EnvContext.from_environment(os.environ)
    if env.size > 1:
        raise InvalidConfigurationException(
            env.size, f"resources.slots_per_trial is {env.size}; this version trains a PyTorch trial on one slot"
        )
    source = SourceSnapshot(_launch.enter(_work_directory()))
    storage = _storage(env, runtime)
    controller = None
    building = True
    try:
        trial_class = _launch.load(env, source)
        context, controller = _launch.build(trial_class, env, source=source)
        loop = Loop(
            context=context,
            controller=controller,
            client=client,
            storage=storage,
            rules=runtime,
            new_uuid=runtime.new_uuid,
        )
        loop.start()
        building = False
        loop.run()
    except InvalidHP as error:
        print(f"the trial refused its hyperparameters: {error}", file=sys.stderr)
        client.report_early_exit("EXITED_REASON_INIT_INVALID_HP" if building else "EXITED_REASON_INVALID_HP")
    finally:
        if controller is not None:
            controller.close()
    return 0


def _work_directory() -> str:
    return os.environ.get("DET_WORKDIR") or os.getcwd()


def _storage(env: EnvContext, runtime: Any) -> Any:
    config = env.experiment_config.get("checkpoint_storage")
    storage = runtime.CheckpointStorage.from_config_json(json.dumps(config), _CONTAINER_ROOT)
    storage.probe()  # better now than after hours of training
    return storage


if __name__ == "__main__":
    result = main()
    _ending.wind_up()
    os._exit(result)
