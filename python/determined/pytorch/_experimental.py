"""``context.experimental``: separate options of the context, and former names of methods."""

from __future__ import annotations

from typing import Any, Protocol


class _Context(Protocol):
    """The part of a trial's context that is used here."""

    reproducible_data: bool
    auto_to_device: bool

    def use_automatic_amp(self) -> None: ...
    def wrap_reducer(
        self, reducer: Any, name: str | None = None, for_training: bool = True, for_validation: bool = True
    ) -> Any: ...


class PyTorchExperimentalContext:
    """Available as ``context.experimental``."""

    def __init__(self, context: _Context) -> None:
        self._context = context

    def use_amp(self) -> None:
        """Enables automatic mixed precision: autocast, loss scaling and everything that they need. Requires a GPU."""
        self._context.use_automatic_amp()

    def wrap_reducer(
        self, reducer: Any, name: str | None = None, for_training: bool = True, for_validation: bool = True
    ) -> Any:
        """The former name of ``context.wrap_reducer``."""
        return self._context.wrap_reducer(reducer, name, for_training, for_validation)

    def disable_dataset_reproducibility_checks(self) -> None:
        """Lets the trial return any data loader, which then has to shard, repeat and resume by itself."""
        self._context.reproducible_data = False

    def disable_auto_to_device(self) -> None:
        """Leaves batches as the loader yields them; the trial calls ``context.to_device`` itself."""
        self._context.auto_to_device = False
