"""Lightning, under whichever of its names it is installed."""

from __future__ import annotations

try:
    import lightning.pytorch as pl
    from lightning.fabric.plugins.environments import ClusterEnvironment
    from lightning.pytorch.loggers import Logger
except ImportError:
    import pytorch_lightning as pl
    from lightning_fabric.plugins.environments import ClusterEnvironment
    from pytorch_lightning.loggers import Logger

__all__ = ["ClusterEnvironment", "Logger", "pl"]
