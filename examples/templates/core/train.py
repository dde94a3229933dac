"""Fits a line to points: your own training loop, with the platform's metrics, checkpoints and preemption.

Runs as it is, too: python3 train.py
"""

import json
import random

import determined as det


def points(count, seed):
    generator = random.Random(seed)
    for _ in range(count):
        x = generator.uniform(-1, 1)
        yield x, 3 * x + 1 + generator.gauss(0, 0.1)


def main(core_context, hparams, latest_checkpoint):
    state = {"step": 0, "slope": 0.0, "offset": 0.0}
    if latest_checkpoint is not None:  # the trial was paused, preempted, or lost its machine
        with core_context.checkpoint.restore_path(latest_checkpoint) as path:
            state = json.loads((path / "state.json").read_text())

    def save():
        with core_context.checkpoint.store_path({"steps_completed": state["step"]}) as (path, _):
            (path / "state.json").write_text(json.dumps(state))

    for operation in core_context.searcher.operations():
        while state["step"] < operation.length:
            state["step"] += 1
            loss = 0.0
            for x, y in points(100, seed=state["step"]):
                error = state["slope"] * x + state["offset"] - y
                loss += error**2 / 100
                state["slope"] -= hparams["learning_rate"] * error * x
                state["offset"] -= hparams["learning_rate"] * error
            core_context.train.report_training_metrics(state["step"], {"loss": loss})
            operation.report_progress(state["step"])
            if core_context.preempt.should_preempt():
                save()
                return
        loss = sum((state["slope"] * x + state["offset"] - y) ** 2 for x, y in points(1000, seed=0)) / 1000
        core_context.train.report_validation_metrics(state["step"], {"validation_loss": loss})
        operation.report_completed(loss)
        save()


if __name__ == "__main__":
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"learning_rate": 0.01}
    with det.core.init() as core_context:
        main(core_context, hparams, info.latest_checkpoint if info else None)
