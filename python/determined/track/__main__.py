"""``python -m determined.track``: what is done with runs on this machine."""

from __future__ import annotations

import argparse
import logging
import pathlib
import sys
from collections.abc import Sequence

from determined.common.api import errors
from determined.track._imports import READERS, import_runs
from determined.track._run import home
from determined.track._sender import ReplacedError, sync


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m determined.track", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("sync", help="send runs to the master; again, only what it does not have")
    one.add_argument("directory", nargs="*", type=pathlib.Path, help=f"of a run, or of several; by default {home()}")
    two = commands.add_parser("import", help="send what another program recorded; again, only what is new")
    two.add_argument("kind", choices=sorted(READERS))
    two.add_argument("path", type=pathlib.Path, help="the directory of its runs")
    two.add_argument("--project")
    two.add_argument("--workspace")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    arguments = parser.parse_args(words)
    failed = False
    try:
        if arguments.command == "import":
            given = import_runs(arguments.kind, arguments.path, arguments.project, arguments.workspace)
        else:
            given = arguments.directory or [home()]
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    for path in [found for directory in given for found in _runs(directory)]:
        try:
            info = sync(path)
            print(f"{path}: experiment {info.trial.experiment_id}")
        except (OSError, ValueError, RuntimeError, ReplacedError, errors.APIException) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
        except errors.MasterNotFoundException as error:
            print(f"{error}", file=sys.stderr)
            return 1
    return 1 if failed else 0


def _runs(directory: pathlib.Path) -> list[pathlib.Path]:
    directory = directory.absolute()
    below = sorted(found.parent for found in directory.glob("*/run.json"))
    return below if below and not (directory / "run.json").exists() else [directory]


if __name__ == "__main__":
    sys.exit(main())
