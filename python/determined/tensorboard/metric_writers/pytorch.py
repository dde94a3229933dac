"""A writer of PyTorch on the directory that the platform keeps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from determined.tensorboard import _board
from determined.tensorboard._events import EventFile

logger = logging.getLogger("determined")


class TorchWriter:
    """Gives ``writer``, a ``torch.utils.tensorboard.SummaryWriter``; its files are kept with the trial's checkpoints.

    Where the package ``tensorboard`` is not installed, ``writer`` writes scalars, and leaves out all else.
    """

    def __init__(self) -> None:
        self.writer: Any
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self.writer = ScalarWriter()
        else:
            self.writer = SummaryWriter(log_dir=str(_board.get_base_path()))
        _board.flushed_before_copying(self.writer.flush)

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        self.writer.add_scalar(name, value, step)

    def reset(self) -> None:
        """Writes down what is buffered."""
        self.writer.flush()


class ScalarWriter:
    """What a ``SummaryWriter`` can do without its package: its calls for scalars write, the others say once that they
    do not."""

    def __init__(self) -> None:
        self._file = EventFile(_board.get_base_path(), "writer")
        self._steps: dict[str, int] = {}
        self._left_out: set[str] = set()

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, *_: Any, **__: Any) -> None:
        step = self._steps.get(tag, 0) if global_step is None else int(global_step)
        self._steps[tag] = step + 1
        self._file.scalars(step, {tag: float(scalar_value)})

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None, *_: Any, **__: Any
    ) -> None:
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("add_"):
            raise AttributeError(f"TorchWriter().writer.{name} needs the package tensorboard in requirements.txt")
        if name not in self._left_out:
            self._left_out.add(name)
            logger.warning(
                "TorchWriter: %s() is ignored because only scalars are written; add the package tensorboard to "
                "requirements.txt of the model definition",
                name,
            )
        return lambda *_, **__: None
