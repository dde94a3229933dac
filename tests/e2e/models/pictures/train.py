"""Writes images, histograms and text of scikit-learn's digits as any script on PyTorch does."""

import determined as det
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.tensorboard import SummaryWriter

digits = load_digits().images / 16

with det.core.init() as core:
    writer = SummaryWriter(str(core.train.get_tensorboard_path()))
    for operation in core.searcher.operations():
        for step in range(1, operation.length + 1):
            writer.add_image("digits/first", digits[step], step, dataformats="HW")
            writer.add_histogram("weights", torch.tensor(digits[:step].ravel()), step)
            writer.add_text("notes", f"**step {step}**\n\n| digit | mean |\n| - | - |\n| {step} | {digits[step].mean():.3f} |", step)
            writer.add_scalar("loss", 1 / step, step)
            core.train.report_training_metrics(step, {"loss": 1 / step})
        writer.add_audio("tone", torch.tensor(np.sin(np.arange(8000) / 5))[None], 1, 8000)
        writer.flush()
        core.train.report_validation_metrics(step, {"error": 0.5})
        operation.report_completed(0.5)
