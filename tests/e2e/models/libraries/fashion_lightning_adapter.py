import adapter
import moments
import torch
from torch import nn
from train import Classifier


class Disturbed(Classifier):
    def on_train_batch_end(self, *_):
        moments.after_step(None, self.global_step)


class Manual(Disturbed):
    """Steps its optimizer itself."""

    def __init__(self, hparams):
        super().__init__(hparams)
        self.automatic_optimization = False

    def training_step(self, batch, index):
        images, labels = batch
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.network(images), labels)
        self.manual_backward(loss)
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        optimizer.step()
        self.log("loss", loss)

    def on_validation_epoch_end(self):
        self.lr_schedulers().step(self.current_epoch)


class Trial(adapter.Trial):
    def build_module(self, context):
        hparams = context.get_hparams()
        return (Manual if hparams.get("manual") else Disturbed)(hparams)
