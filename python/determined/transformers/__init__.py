"""Trains models with the Trainer of Hugging Face Transformers.

::

    with det.core.init() as context:
        args = transformers.TrainingArguments(output_dir="output", max_steps=1000, ...)
        callback = DetCallback(context, args)
        transformers.Trainer(model, args, ..., callbacks=[callback]).train()

Needs the package ``transformers``: name it in the ``requirements.txt`` of the model definition.
"""

try:
    import transformers as _library  # noqa: F401
except ImportError as error:
    raise ImportError(
        "determined.transformers needs the package transformers; add a line such as transformers==5.24.0 to the "
        "requirements.txt of the model definition"
    ) from error

from determined.transformers._callback import DetCallback

__all__ = ["DetCallback"]
