import functools

import moments
import torch.distributed
import train

import determined as det

torch.distributed.init_process_group()
with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as context:
    train.main(context, det.get_cluster_info(), functools.partial(moments.after_step, context))
