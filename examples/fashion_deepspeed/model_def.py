"""Networks that DeepSpeed trains on several slots classify pictures of clothes (Fashion-MNIST)."""

import gzip
import pathlib

import deepspeed
import torch
from torch import nn

from determined.pytorch import DataLoader
from determined.pytorch.deepspeed import DeepSpeedTrial, overwrite_deepspeed_config


def load(context, part):
    data = context.get_data_config()

    def read(name, header):
        with gzip.open(pathlib.Path(data["directory"]) / f"{part}-{name}-ubyte.gz") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[header:]

    images, labels = read("images-idx3", 16).view(-1, 784), read("labels-idx1", 8).long()
    return torch.utils.data.TensorDataset(images[: data["images"]] / 255, labels[: data["images"]])


def layers(width):
    return [nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)]


class FashionTrial(DeepSpeedTrial):
    """Each slot has the whole model, and by ZeRO its part of the optimizer's state."""

    def __init__(self, context):
        super().__init__(context)
        self.engine = context.wrap_model_engine(self.build_engine())

    def build_engine(self):
        model = nn.Sequential(*layers(self.context.get_hparam("width")))
        config = overwrite_deepspeed_config("ds_config.json", self.context.get_hparams().get("overwrite_deepspeed_args", {}))
        optimizer = torch.optim.Adam(model.parameters())
        return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]

    def build_training_data_loader(self):
        data = load(self.context, "train")
        return DataLoader(data, batch_size=self.context.train_micro_batch_size_per_gpu, shuffle=True, drop_last=True)

    def build_validation_data_loader(self):
        return DataLoader(load(self.context, "t10k"), batch_size=self.context.train_micro_batch_size_per_gpu, drop_last=True)

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        images, labels = self.context.to_device(next(dataloader_iter))
        loss = nn.functional.cross_entropy(self.engine(images), labels)
        self.engine.backward(loss)
        self.engine.step()
        return {"loss": loss, "learning_rate": self.engine.get_lr()[0]}

    def evaluate_batch(self, dataloader_iter, batch_idx):
        images, labels = self.context.to_device(next(dataloader_iter))
        with torch.no_grad():
            scores = self.engine(images)
        accuracy = (scores.argmax(1) == labels).float().mean()
        return {"loss": nn.functional.cross_entropy(scores, labels), "accuracy": accuracy}


class PipelineTrial(FashionTrial):
    """Each slot has a part of the layers; the micro-batches of a batch pass through them one behind the other."""

    def build_engine(self):
        model = deepspeed.pipe.PipelineModule(
            layers=layers(self.context.get_hparam("width")),
            loss_fn=nn.CrossEntropyLoss(),
            num_stages=self.context.distributed.size,
        )
        optimizer = torch.optim.Adam(model.parameters())
        return deepspeed.initialize(model=model, optimizer=optimizer, config="ds_config.json")[0]

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        return {"loss": self.engine.train_batch(dataloader_iter)}

    def evaluate_batch(self, dataloader_iter, batch_idx):
        return {"loss": self.engine.eval_batch(dataloader_iter)}
