"""One process of a trial started by ``torch_distributed --trial``; a Trainer trains its class."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from determined._definition import _entrypoint
from determined._info import get_trial_cluster_info
from determined.common import check
from determined.exec import _output


def main(spec: str) -> None:
    """Trains the class that ``spec`` names, as configured in the experiment.

    Raises:
        CheckFailedError: it is neither a PyTorchTrial nor a DeepSpeedTrial.
    """
    from determined import pytorch

    _output.set_up()
    info = get_trial_cluster_info()
    trial_class = _entrypoint.load_trial_class(spec, os.getcwd())
    library: Any = pytorch
    if not issubclass(trial_class, pytorch.PyTorchTrial):
        library = importlib.import_module("determined.pytorch.deepspeed")
        if not issubclass(trial_class, library.DeepSpeedTrial):
            check.fail(f"the class {trial_class.__name__}", "a PyTorchTrial or a DeepSpeedTrial", f"--trial {spec}")
            raise AssertionError
    with library.init() as context:
        config, batch = context.get_experiment_config(), context.get_global_batch_size()

        def period(name: str) -> pytorch.Batch | None:
            batches = config.period_in_batches(name, batch)
            return pytorch.Batch(batches) if batches else None

        library.Trainer(trial_class(context), context).fit(
            checkpoint_period=period("min_checkpoint_period"),
            validation_period=period("min_validation_period"),
            max_length=None if info else pytorch.Batch(1),
            reporting_period=pytorch.Batch(config.scheduling_unit()),
            checkpoint_policy=config.checkpoint_policy(),
            latest_checkpoint=info.latest_checkpoint if info else None,
            step_zero_validation=config.perform_initial_validation(),
        )


if __name__ == "__main__":
    main(sys.argv[1])
