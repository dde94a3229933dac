"""A small network classifies pictures of clothes (Fashion-MNIST), with Lightning."""

import gzip
import pathlib

import lightning
import torch
import torchmetrics
from torch import nn

import determined as det
from determined.lightning import Trainer


def load(config, part):
    def read(name, header):
        with gzip.open(pathlib.Path(config["directory"]) / f"{part}-{name}-ubyte.gz") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[header:]

    images = read("images-idx3", 16).view(-1, 784)[: config["images"]] / 255
    return torch.utils.data.TensorDataset(images, read("labels-idx1", 8).long()[: config["images"]])


class Classifier(lightning.LightningModule):
    def __init__(self, hparams):
        super().__init__()
        self.learning_rate = hparams["learning_rate"]
        self.network = nn.Sequential(
            nn.Linear(784, hparams["width"]), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hparams["width"], 10)
        )
        self.accuracy = torchmetrics.Accuracy("multiclass", num_classes=10)

    def training_step(self, batch, index):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.network(images), labels)
        self.log("loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        images, labels = batch
        scores = self.network(images)
        self.log("val_loss", nn.functional.cross_entropy(scores, labels), sync_dist=True)
        self.accuracy(scores, labels)
        self.log("val_accuracy", self.accuracy)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.learning_rate)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}


def main(context, info, callbacks=()):
    hparams, config = info.trial.hparams, info.trial.experiment_config
    lightning.seed_everything(info.trial.trial_seed)
    trainer = Trainer(
        context,
        accelerator="auto",
        max_epochs=config["searcher"]["max_length"]["epochs"],
        log_every_n_steps=hparams["log_every"],
        enable_model_summary=False,
        callbacks=list(callbacks),
    )
    batch_size = hparams["global_batch_size"] // context.distributed.size
    trainer.fit(
        Classifier(hparams),
        torch.utils.data.DataLoader(load(config["data"], "train"), batch_size, shuffle=True),
        torch.utils.data.DataLoader(load(config["data"], "t10k"), 256),
    )


if __name__ == "__main__":
    several = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=several) as context:
        main(context, det.get_cluster_info())
