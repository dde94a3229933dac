"""A program outside any cluster, tracked through core_v2: the same text for our package and for the original's."""

import argparse
import json
import os
import signal
import sys
import time

from determined.experimental import core_v2

parser = argparse.ArgumentParser()
parser.add_argument("--experiment")
parser.add_argument("--trial")
parser.add_argument("--storage", required=True)
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--die-at", type=int)
parser.add_argument("--fail-at", type=int)
parser.add_argument("--exit", type=int)
parser.add_argument("--pause", type=float, default=0.0)
arguments = parser.parse_args()

distributed = None
if "RANK" in os.environ:
    distributed = core_v2.DistributedContext.from_torch_distributed()
core_v2.init(
    config=core_v2.Config(
        name="outside",
        hparams={"lr": 0.1},
        data={"set": "toy"},
        description="a laptop",
        labels=["outside"],
        searcher={"name": "custom", "metric": "loss", "smaller_is_better": True},
        checkpoint_storage=arguments.storage,
        external_experiment_id=arguments.experiment,
        external_trial_id=arguments.trial,
    ),
    distributed=distributed,
    tensorboard_mode=core_v2.TensorboardMode.MANUAL,  # the original needs torch or TensorFlow for AUTO
)
rank = core_v2.distributed.rank
state = {"step": 0, "weight": 1.0}
if core_v2.info.latest_checkpoint:
    with core_v2.checkpoint.restore_path(core_v2.info.latest_checkpoint) as path:
        state = json.loads((path / "state.json").read_text())
print(f"rank {rank} begins at step {state['step']}", flush=True)
while state["step"] < arguments.steps:
    state["step"] += 1
    state["weight"] *= 0.9
    step = state["step"]
    if rank == 0:
        core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": state["weight"]})
        core_v2.train.report_progress(step / arguments.steps)
        if step % 4 == 0:
            with core_v2.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "state.json").write_text(json.dumps(state))
    time.sleep(arguments.pause)
    if step == arguments.die_at:
        time.sleep(2)  # the original ships its reports and lines later
        os.kill(os.getpid(), signal.SIGKILL)
    if step == arguments.fail_at:
        raise ValueError("the data is broken")
if rank == 0:
    core_v2.train.report_validation_metrics(steps_completed=state["step"], metrics={"loss": state["weight"]})
print(f"rank {rank} is done", flush=True)
if arguments.exit is not None:
    sys.exit(arguments.exit)
core_v2.close()
