"""The same network in the platform's own loop, as a trial class."""

import torch
from train import Classifier, load

from determined.pytorch import DataLoader
from determined.pytorch.lightning import LightningAdapter


class Trial(LightningAdapter):
    def __init__(self, context):
        super().__init__(context, lightning_module=self.build_module(context))

    def build_module(self, context):
        return Classifier(context.get_hparams())

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(self.load("train"), self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(self.load("t10k"), 64)

    def load(self, part) -> torch.utils.data.Dataset:
        return load(self.context.get_experiment_config()["data"], part)
