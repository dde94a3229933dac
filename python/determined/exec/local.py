"""Tests a model definition on this machine, without a master.

``python -m determined.exec.local CONFIG DIRECTORY --test`` trains one batch, validates, saves a checkpoint and loads it
again. Used by ``det experiment create --local --test``.
"""

from __future__ import annotations

import argparse
import os
import sys

from determined import _failure
from determined._run import _launch, _local_run
from determined.common import util
from determined.errors import InvalidHP
from determined.exec import _output, _requirements


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m determined.exec.local", description=__doc__)
    parser.add_argument("config", help="the experiment configuration, JSON or YAML")
    parser.add_argument("directory", help="the model definition")
    parser.add_argument("--test", action="store_true", help="train one batch; the only local mode")
    options = parser.parse_args(arguments)
    _output.set_up(debug=util.debug_mode())
    if not options.test:
        print("--local needs --test: only a test can run without a cluster", file=sys.stderr)
        return 2
    sys.dont_write_bytecode = True
    try:
        config_file = os.path.abspath(options.config)
        config = _local_run.read_config(config_file)
        directory = _launch.enter(options.directory)
        _requirements.enter(directory, ["-m", "determined.exec.local", config_file, directory, "--test"], config)
        from determined import _runtime

        _local_run.test_one_batch(None, config, rules=_runtime, directory=directory)
    except InvalidHP as error:
        print(f"the trial refused its hyperparameters: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _failure.report(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
