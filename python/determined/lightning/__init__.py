"""Trains a ``LightningModule`` with Lightning 2.

::

    with det.core.init() as context:
        trainer = determined.lightning.Trainer(context, max_epochs=10)
        trainer.fit(model, train_loader, validation_loader)

Needs the package ``lightning`` (or ``pytorch_lightning``): name it in the ``requirements.txt`` of the model definition.
"""

try:
    from determined.lightning._library import pl as _pl  # noqa: F401
except ImportError as error:
    raise ImportError(
        "determined.lightning needs the package lightning; add a line such as lightning==2.6.6 to the requirements.txt "
        "of the model definition"
    ) from error

from determined.lightning._callback import DetCallback
from determined.lightning._environment import DetEnvironment
from determined.lightning._logger import DetLogger
from determined.lightning._trainer import Trainer

__all__ = ["DetCallback", "DetEnvironment", "DetLogger", "Trainer"]
