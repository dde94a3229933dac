"""Handwritten digits, 8 x 8 pixels; scikit-learn brings them."""

import sklearn.datasets
import sklearn.model_selection


def load():
    x, y = sklearn.datasets.load_digits(return_X_y=True)
    return sklearn.model_selection.train_test_split((x / 16).astype("float32"), y, test_size=0.25, random_state=0)


def loop(context, latest, restore, save, train_to):
    """Trains step by step as far as the searcher wants. ``train_to(step)`` returns the metrics of the validation."""
    step = 0
    if latest is not None:
        with context.checkpoint.restore_path(latest) as path:
            restore(path)
        step = context.checkpoint.get_metadata(latest)["steps_completed"]

    def checkpoint():
        with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
            save(path)

    for operation in context.searcher.operations():
        metrics = {}
        while step < operation.length or not metrics:
            step = min(step + 1, operation.length)
            metrics = train_to(step)
            context.train.report_validation_metrics(step, metrics)
            operation.report_progress(step)
            if step < operation.length and context.preempt.should_preempt():
                checkpoint()
                return
        checkpoint()
        operation.report_completed(metrics["accuracy"])
