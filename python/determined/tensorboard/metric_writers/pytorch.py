"""A writer of PyTorch on the directory that the platform keeps."""

from __future__ import annotations

from typing import Any

from determined.tensorboard import _board


class TorchWriter:
    """Gives ``writer``, a ``torch.utils.tensorboard.SummaryWriter``; its files are kept with the trial's checkpoints.

    Raises:
        ModuleNotFoundError: the package ``tensorboard`` is not installed.
    """

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ModuleNotFoundError(
                "TorchWriter needs the package tensorboard; add it to requirements.txt of the model definition"
            ) from error
        self.writer: Any = SummaryWriter(log_dir=str(_board.get_base_path()))
        _board.flushed_before_copying(self.writer.flush)

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        self.writer.add_scalar(name, value, step)

    def reset(self) -> None:
        """Writes down what is buffered."""
        self.writer.flush()
