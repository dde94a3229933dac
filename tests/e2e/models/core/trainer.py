"""The tiny trial, trained by a script: pytorch.Trainer."""

import determined as det
from determined import pytorch
from model_def import LineTrial


def main() -> None:
    info = det.get_cluster_info()
    with pytorch.init(hparams=None if info else {"seconds": 0.0}) as context:
        trainer = pytorch.Trainer(LineTrial(context), context)
        trainer.fit(
            max_length=pytorch.Epoch(3),
            validation_period=pytorch.Batch(20),
            checkpoint_period=pytorch.Batch(8),
            reporting_period=pytorch.Batch(4),
            latest_checkpoint=info.latest_checkpoint if info else None,
        )
        print("fitted")


if __name__ == "__main__":
    main()
