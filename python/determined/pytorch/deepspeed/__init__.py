"""DeepSpeed trials: subclass :class:`DeepSpeedTrial` to train with the engines of ``deepspeed.initialize()``.

DeepSpeed is not part of the platform's environment; name it in the model definition's ``requirements.txt``.
"""

from determined.pytorch.deepspeed._config import get_ds_config_from_args, overwrite_deepspeed_config
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._controller import DeepSpeedTrialController
from determined.pytorch.deepspeed._mpu import ModelParallelUnit, make_data_parallel_mpu, make_deepspeed_mpu
from determined.pytorch.deepspeed._trainer import Trainer, init
from determined.pytorch.deepspeed._trial import DeepSpeedTrial

__all__ = [
    "DeepSpeedTrial",
    "DeepSpeedTrialContext",
    "DeepSpeedTrialController",
    "ModelParallelUnit",
    "Trainer",
    "get_ds_config_from_args",
    "init",
    "make_data_parallel_mpu",
    "make_deepspeed_mpu",
    "overwrite_deepspeed_config",
]
