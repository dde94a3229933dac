"""The trials of the example, slow enough to be killed in the middle."""

import time

import model_def


class Slow(model_def.FashionTrial):
    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        time.sleep(0.02)
        return super().train_batch(dataloader_iter, epoch_idx, batch_idx)


class SlowPipeline(model_def.PipelineTrial):
    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        time.sleep(0.04)
        return super().train_batch(dataloader_iter, epoch_idx, batch_idx)
