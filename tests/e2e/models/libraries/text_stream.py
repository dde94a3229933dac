import functools

import moments
import train

import determined as det

with det.core.init() as context:
    train.main(context, det.get_cluster_info(), functools.partial(moments.after_step, context))
