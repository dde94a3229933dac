import lightning
import moments
import train

import determined as det


class Moments(lightning.Callback):
    def on_train_batch_end(self, trainer, *_):
        moments.after_step(context, trainer.global_step)


with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as context:
    train.main(context, det.get_cluster_info(), [Moments()])
