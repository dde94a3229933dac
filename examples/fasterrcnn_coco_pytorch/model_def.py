"""Faster R-CNN of torchvision on a detection set: pictures and boxes in tuples, losses from the model itself."""

from typing import Any, Dict, List

import torch
from data import KINDS, SIZE, CocoDetection, collate, prepare
from torch.utils.data import random_split
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
from torchvision.ops import box_iou

from determined.pytorch import DataLoader, LRScheduler, PyTorchTrial, PyTorchTrialContext


class ObjectDetectionTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        data = context.get_data_config()
        dataset = CocoDetection(prepare(data["directory"], data["garments"], data["pictures"], seed=7))
        held_out = len(dataset) // 10
        self.train_set, self.validation_set = random_split(dataset, [len(dataset) - held_out, held_out])
        self.model = context.wrap_model(
            fasterrcnn_mobilenet_v3_large_320_fpn(
                weights=None, weights_backbone=None, num_classes=len(KINDS) + 1, min_size=SIZE, max_size=SIZE
            )
        )
        self.optimizer = context.wrap_optimizer(
            torch.optim.SGD(
                [p for p in self.model.parameters() if p.requires_grad],
                lr=context.get_hparam("learning_rate"),
                momentum=context.get_hparam("momentum"),
                weight_decay=context.get_hparam("weight_decay"),
            )
        )
        self.lr_scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=3, gamma=0.1),
            step_mode=LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(
            self.train_set,
            batch_size=self.context.get_per_slot_batch_size(),
            shuffle=True,
            collate_fn=collate,
        )

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(self.validation_set, batch_size=self.context.get_per_slot_batch_size(), collate_fn=collate)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        images, targets = batch
        losses = self.model(list(images), list(targets))
        total = sum(losses.values())
        self.context.backward(total)
        self.context.step_optimizer(self.optimizer)
        return {"loss": total, **losses}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        images, targets = batch
        found = self.model(list(images))
        return {"val_avg_iou": torch.tensor([best_iou(f, t) for f, t in zip(found, targets)]).mean()}

    def get_batch_length(self, batch: Any) -> int:
        return len(batch[0])  # one picture after the other, not one tensor for all


def best_iou(found: Dict[str, torch.Tensor], target: Dict[str, torch.Tensor]) -> float:
    """For every true box the overlap of the best box found, on average."""
    if len(target["boxes"]) == 0 or len(found["boxes"]) == 0:
        return 0.0 if len(target["boxes"]) else 1.0
    overlaps: List[float] = box_iou(target["boxes"], found["boxes"]).max(1).values.tolist()
    return sum(overlaps) / len(overlaps)
