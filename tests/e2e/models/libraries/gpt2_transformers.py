import moments
import train
import transformers

import determined as det


class Moments(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        moments.after_step(context, state.global_step)


with det.core.init() as context:
    train.main(context, det.get_cluster_info(), [Moments()])
