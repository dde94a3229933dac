"""Runs one process of a trial: ``python -m determined.exec.trial`` with the ``DET_*`` variables set by the agent.

The exit status is 0 if the trial is completed, paused or closed; 80 if the master has ended the allocation; 1 if the
trial failed, with the reason on stderr; 81 if this rank ended because another one did; 82 if it waited too long for the
others. SIGUSR2 writes the stacks of all threads to stderr.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from determined import _environment, _failure
from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._ranks import _end, _group, _meeting, _watch
from determined._ranks._distributed import DistributedContext
from determined._run import _launch, _profiling
from determined._run._loop import Follower, Loop
from determined._runtime_api import EXIT_GONE, RankClient
from determined._train_context import TrialContext
from determined.common import util
from determined.common.constants import SHARED_FS_CONTAINER_PATH
from determined.errors import InvalidHP
from determined.exec import _ending, _output, _requirements, _script
from determined.tensorboard._board import Board, storage_place


def main(worker: Mapping[str, str] | None = None) -> int:
    """Runs the trial that the environment describes, and returns the exit status.

    ``worker`` is the environment of the warm worker of which this process is a fork.
    """
    _output.write_lines()
    faulthandler.register(
        signal.SIGUSR2, file=sys.stderr, all_threads=True
    )  # sent before a kill, to see where the trial hangs
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # makes matrix products on GPUs deterministic
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # this package reports lost ranks itself
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # no messages about instruction sets
    try:
        config = _requirements.config_of(os.environ)
        programs = _requirements.enter(_work_directory(), ["-m", "determined.exec.trial"], config)
    except BaseException as error:  # such as InvalidExperimentException
        if isinstance(error, KeyboardInterrupt):
            raise
        _failure.report(error)
        return 1
    if (command := _script.command_of(os.environ)) is not None:
        return _script.run(command, os.environ, worker, programs)
    _output.set_up(debug=util.debug_mode())
    try:
        from determined import _runtime
    except ImportError as error:
        print(
            f"the trial runtime determined._runtime cannot be imported: {error}; build it with tools/build.sh",
            file=sys.stderr,
        )
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


def _run(client: RankClient, runtime: Any) -> int:
    env = EnvContext.from_environment(os.environ)
    source = SourceSnapshot(_launch.enter(_work_directory()))
    try:
        with _group.joined(env, client) as ranks:
            return _end.shared(ranks, runtime.Gone, lambda: _train(env, client, runtime, source, ranks))
    except _meeting.PreemptedEarly:
        if env.rank == 0:
            client.acknowledge_preemption()
        return 0
    except _meeting.ChiefLost as error:
        print(f"rank {env.rank} ends: {error}", file=sys.stderr)
        return _watch.EXIT_FOLLOWED
    except _meeting.RanksMissing as error:
        print(error, file=sys.stderr)
        return 1
    except RuntimeError as error:
        if env.size == 1 or not _watch.is_lost_peer(error):
            raise
        print(f"rank {env.rank} ends because it lost another rank while connecting", file=sys.stderr)
        return _watch.EXIT_FOLLOWED


def _train(env: EnvContext, client: RankClient, runtime: Any, source: SourceSnapshot, ranks: DistributedContext) -> int:
    if not ranks.is_chief:
        client.close()  # only the chief talks to the master
    elif ranks.watch is not None:
        ranks.watch.last_act = client.flush
    storage = _storage(env, runtime)
    controller = None
    building = True
    try:
        trial_class = _launch.load(env, source, ranks)
        context, controller = _launch.build(trial_class, env, source=source, distributed=ranks)
        loop: Loop | Follower
        if ranks.is_chief:
            loop = Loop(
                context=context,
                controller=controller,
                client=client,
                storage=storage,
                rules=runtime,
                new_uuid=runtime.new_uuid,
                board=_board(context),
            )
        else:
            loop = Follower(context=context, controller=controller, storage=storage)
        loop.start()
        building = False
        if env.local_rank == 0:
            _environment.report_in_background(
                _environment.reporter(env.rank, client if ranks.is_chief else None, runtime)
            )
        with _profiling.measured(env.experiment_config.profiling_enabled(), ranks, _shown(context)):
            loop.run()
    except InvalidHP as error:
        if _end.first(ranks, "stopped", str(error)):
            print(f"the trial refused its hyperparameters: {error}", file=sys.stderr)
            speaker = client if ranks.is_chief else runtime.Client.from_environment()
            speaker.report_early_exit("EXITED_REASON_INIT_INVALID_HP" if building else "EXITED_REASON_INVALID_HP")
            _end.told(ranks)
    finally:
        if controller is not None:
            controller.close()
    return 0


def _work_directory() -> str:
    return os.environ.get("DET_WORKDIR") or os.getcwd()


def _shown(context: TrialContext) -> bool:
    """Whether the trial writes files for TensorBoard."""
    wanted = getattr(context, "get_enable_tensorboard_logging", None)  # PyTorch trials have a say
    return wanted is None or bool(wanted())


def _board(context: TrialContext) -> Board | None:
    if not _shown(context):
        return None
    env = context.env
    root = storage_place(env.experiment_config.get("checkpoint_storage") or {})
    return Board(root, os.environ.get("DET_CLUSTER_ID", ""), env.experiment_id, env.trial_id)


def _storage(env: EnvContext, runtime: Any) -> Any:
    config = env.experiment_config.get("checkpoint_storage")
    storage = runtime.CheckpointStorage.from_config_json(json.dumps(config), SHARED_FS_CONTAINER_PATH)
    if env.rank == 0:
        storage.probe()  # better now than after hours of training
    return storage


if __name__ == "__main__":
    result = main()
    _ending.wind_up()
    os._exit(result)
