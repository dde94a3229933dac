"""A training loop of its own: fits one number by gradient descent, with the Core API."""

import json
import sys
import time

import determined as det


def main() -> None:
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"learning_rate": 0.1, "seconds": 0.0}
    latest = info.latest_checkpoint if info else None
    print("python is", sys.executable, "arguments are", sys.argv[1:])
    with det.core.init() as context:
        weight, step = 5.0, 0
        if latest is not None:
            with context.checkpoint.restore_path(latest) as path:
                state = json.loads((path / "state.json").read_text())
            weight = state["weight"]
            step = 0 if info.warm_start else state["step"]
            print(f"goes on with {weight} after step {step}")
        best = context.train.get_experiment_best_validation()
        print("best so far:", best)
        for operation in context.searcher.operations():
            while step < operation.length:
                weight -= hparams["learning_rate"] * 2 * (weight - 1)
                step += 1
                time.sleep(hparams["seconds"])
                print(f"step {step}")
                context.train.report_training_metrics(step, {"weight": weight, "odd": float("nan")})
                operation.report_progress(step)
                if step % 10 == 0:
                    save(context, weight, step)
                if context.preempt.should_preempt():
                    save(context, weight, step)
                    return
            context.train.set_status("validating")
            loss = (weight - 1) ** 2
            context.train.report_validation_metrics(step, {"loss": loss})
            context.train.report_metrics("inference", step, {"answer": 42})
            operation.report_completed(loss)
            save(context, weight, step)


def save(context, weight, step):
    with context.checkpoint.store_path({"steps_completed": step, "kind": "one number"}) as (path, uuid):
        (path / "state.json").write_text(json.dumps({"weight": weight, "step": step}))


if __name__ == "__main__":
    main()
