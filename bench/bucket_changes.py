"""How much of a checkpoint is sent to a bucket, if a trial trains only some of its layers?

A trial fine-tunes a vision transformer of torchvision (12 layers of width 384): all of it, or the last layer and the
classifier, or the classifier alone. It saves after each step of five batches, as trials do, to a server that speaks S3.
A relay counts what is sent. The first checkpoint is sent as a whole (`whole`); `later` is the median of the others.

Usage: python bench/bucket_changes.py [checkpoints, default 4]
"""

from __future__ import annotations

import json
import pathlib
import statistics
import sys
import tempfile
import time
import warnings
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

import object_servers  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
from harness import Run  # noqa: E402

from determined import _runtime  # noqa: E402
from determined._run._saving import Pending, Saver  # noqa: E402
from determined.pytorch import DataLoader, PyTorchTrial  # noqa: E402

LAST = "encoder.layers.encoder_layer_11."
TRAINED = {"all layers": ("",), "last layer, classifier": (LAST, "heads."), "classifier": ("heads.",)}


def trial_class(trained: tuple[str, ...]) -> type[PyTorchTrial]:
    class Trial(PyTorchTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            model = torchvision.models.VisionTransformer(
                image_size=32, patch_size=8, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536, num_classes=10
            )
            for name, parameter in model.named_parameters():
                parameter.requires_grad = name.startswith(trained)
            self.model = context.wrap_model(model)
            learns = [parameter for parameter in model.parameters() if parameter.requires_grad]
            self.optimizer = context.wrap_optimizer(torch.optim.AdamW(learns, lr=1e-3))

        def build_training_data_loader(self) -> DataLoader:
            images, labels = torch.randn(64, 3, 32, 32), torch.randint(10, (64,))
            return DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=16)

        build_validation_data_loader = build_training_data_loader

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}

        def evaluate_batch(self, batch: Any) -> Any:
            return {"val_loss": torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])}

    return Trial


def measure(section: dict[str, Any], name: str, checkpoints: int) -> None:
    relay = object_servers.Relay(section["endpoint_url"])
    storage: Any = _runtime.CheckpointStorage.from_config_json(json.dumps({**section, "endpoint_url": relay.url}), "")
    with tempfile.TemporaryDirectory() as place:
        run = Run(
            trial_class(TRAINED[name]), pathlib.Path(place) / "unused", lengths=[10**6], config={"scheduling_unit": 5}
        )
        run.start().steps(1)
        sent, took = [], []
        for number in range(checkpoints + 1):
            run.controller.train(5)
            snapshot = run.controller.snapshot({"state": run.loop.state.to_dict(), "searcher_metric": None})
            before, began = relay.sent, time.monotonic()
            pending = Pending(_runtime.new_uuid(), number, "bench", "{}", "{}")
            Saver(run.client, storage).save(pending, snapshot, in_background=False)
            sent.append(relay.sent - before)
            took.append(time.monotonic() - began)
    relay.close()
    later = statistics.median(sent[1:])
    print(
        f"{name:24} whole {sent[0] / 1e6:6.1f} MB, {took[0]:5.2f} s; later {later / 1e6:6.1f} MB, "
        f"{statistics.median(took[1:]):5.2f} s; {later / sent[0]:.2f} of it is sent"
    )


def main() -> None:
    checkpoints = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    warnings.simplefilter("ignore")
    with object_servers.s3() as section:
        for name in TRAINED:
            measure(section, name, checkpoints)


if __name__ == "__main__":
    main()
