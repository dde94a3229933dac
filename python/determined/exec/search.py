"""Runs the search method of an experiment: the entrypoint of the trial that the master starts for it.

The experiment of this trial is a fork of the searched one. A method that fails ends the searched experiment with its
message; a process that is killed is restarted, and continues from its latest checkpoint.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import Any

import determined as det
from determined.common.api import errors
from determined.searcher import RemoteSearchRunner, SearchMethod, Shutdown
from determined.searcher._optuna import OptunaSearch

logger = logging.getLogger("determined.searcher")


def search_method(config: Mapping[str, Any]) -> SearchMethod:
    """Returns the search method that a configuration names.

    Raises:
        ValueError: it cannot be made; the message says why.
    """
    searcher = config["searcher"]
    if searcher["name"] == "optuna":
        return OptunaSearch(config)
    where = searcher["class"]
    module, name = where.split(":")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"searcher.class is {where}, which cannot be imported: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, SearchMethod)):
        raise ValueError(f"searcher.class is {where}, which is not a subclass of determined.searcher.SearchMethod")
    try:
        return kind(**(searcher.get("args") or {}))
    except TypeError as error:
        raise ValueError(f"searcher.class is {where}, which cannot be made from searcher.args: {error}") from error


class _Failed(SearchMethod):
    """Ends the search with a message."""

    def __init__(self, reason: str) -> None:
        self._operations = [Shutdown(failure=True, reason=reason)]

    def initial_operations(self, searcher_state: Any) -> Any:
        return self._operations

    def on_trial_created(self, *told: Any) -> Any:
        return self._operations

    def on_validation_completed(self, *told: Any) -> Any:
        return self._operations

    def on_trial_exited_early(self, *told: Any) -> Any:
        return self._operations

    def on_trial_closed(self, *told: Any) -> Any:
        return self._operations

    def load_method_state(self, path: Any) -> None:
        """There is nothing to go on from."""


def main() -> None:
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init() as context:
        runner = RemoteSearchRunner(_Failed("the search method was not made"), context)
        searched = runner.searched_experiment()
        try:
            runner.search_method = search_method(searched["config"])
            runner.drive(int(searched["id"]))
        except errors.APIException:
            raise
        except Exception as error:
            logger.exception("the search method of experiment %s failed", searched["id"])
            sentence = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            runner = RemoteSearchRunner(_Failed(f"the search method failed: {sentence}"[:4000]), context)
            runner.drive(int(searched["id"]))


if __name__ == "__main__":
    main()
