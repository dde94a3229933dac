"""``context.experimental``: what the context keeps apart, and former names of what it no longer does."""

from __future__ import annotations

from typing import Any, Protocol


class _Context(Protocol):
    """What of a trial's context is reached from here."""

    reproducible_data: bool
    auto_to_device: bool

    def use_automatic_amp(self) -> None: ...
    def wrap_reducer(
        self, reducer: Any, name: str | None = None, for_training: bool = True, for_validation: bool = True
    ) -> Any: ...


class PyTorchExperimentalContext:
    """Reached as ``context.experimental``."""

    def __init__(self, context: _Context) -> None:
        self._context = context

    def use_amp(self) -> None:
        """Turns on automatic mixed precision: autocast, loss scaling, and all that goes with it. Needs a GPU."""
        self._context.use_automatic_amp()

    def wrap_reducer(
        self, reducer: Any, name: str | None = None, for_training: bool = True, for_validation: bool = True
    ) -> Any:
        """The former place of ``context.wrap_reducer``."""
        return self._context.wrap_reducer(reducer, name, for_training, for_validation)

    def disable_dataset_reproducibility_checks(self) -> None:
        """Lets the trial return any loader. Sharding, repeating and going on after a pause are then its own task."""
        self._context.reproducible_data = False

    def disable_auto_to_device(self) -> None:
        """Leaves batches as the loader yields them; the trial calls ``context.to_device`` itself."""
        self._context.auto_to_device = False
