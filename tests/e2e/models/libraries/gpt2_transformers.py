import importlib
import sys

import moments
import transformers

import determined as det

script = importlib.import_module((sys.argv[1:] or ["train"])[0])


class Moments(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        moments.after_step(context, state.global_step)


with det.core.init() as context:
    script.main(context, det.get_cluster_info(), [Moments()])
