"""A small network classifies pictures of clothes (Fashion-MNIST), with Accelerate on any number of slots."""

import gzip
import json
import pathlib

import accelerate
import torch
from torch import nn

import determined as det


def load(config, part):
    def read(name, header):
        with gzip.open(pathlib.Path(config["directory"]) / f"{part}-{name}-ubyte.gz") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[header:]

    images = read("images-idx3", 16).view(-1, 784)[: config["images"]] / 255
    return torch.utils.data.TensorDataset(images, read("labels-idx1", 8).long()[: config["images"]])


def save(context, accelerator, state):
    metadata = {"steps_completed": state["steps"]}
    with context.checkpoint.store_path(metadata, shard=True) as (path, _):
        accelerator.save_state(path, safe_serialization=True)
        if context.distributed.rank == 0:
            (path / "state.json").write_text(json.dumps(state))


def evaluate(accelerator, model, loader):
    model.eval()
    right = [accelerator.gather_for_metrics((model(x).argmax(1) == y).float()) for x, y in loader]
    model.train()
    return torch.cat(right).mean().item()


def main(context, info, after_step=lambda step: None):
    hparams, config = info.trial.hparams, info.trial.experiment_config
    accelerate.utils.set_seed(info.trial.trial_seed)
    accelerator = accelerate.Accelerator(
        cpu=not torch.cuda.is_available(),
        dataloader_config=accelerate.DataLoaderConfiguration(use_seedable_sampler=True),
    )
    batch_size = hparams["global_batch_size"] // context.distributed.size
    network = nn.Sequential(nn.Linear(784, hparams["width"]), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hparams["width"], 10))
    model, optimizer, loader, validation = accelerator.prepare(
        network,
        torch.optim.Adam(network.parameters(), lr=hparams["learning_rate"]),
        torch.utils.data.DataLoader(load(config["data"], "train"), batch_size, shuffle=True),
        torch.utils.data.DataLoader(load(config["data"], "t10k"), 256),
    )
    state = {"steps": 0, "epoch": 0, "batch": 0}
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            accelerator.load_state(path)
            state = json.loads((path / "state.json").read_text())

    for operation in context.searcher.operations():
        while state["epoch"] < operation.length:
            loader.set_epoch(state["epoch"])
            generator = torch.get_rng_state() if state["batch"] else None
            rest = accelerator.skip_first_batches(loader, state["batch"]) if state["batch"] else loader
            for number, (images, labels) in enumerate(rest, state["batch"] + 1):
                if generator is not None:  # beginning to read draws from it, which was done before
                    torch.set_rng_state(generator)
                    generator = None
                loss = nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                accelerator.backward(loss)
                optimizer.step()
                state.update(steps=state["steps"] + 1, batch=number)
                average = accelerator.gather(loss.detach()).mean().item()
                if context.distributed.rank == 0:
                    context.train.report_training_metrics(state["steps"], {"loss": average})
                after_step(state["steps"])
                if number < len(loader) and context.preempt.should_preempt():
                    save(context, accelerator, state)
                    return
            accuracy = evaluate(accelerator, model, validation)
            state.update(epoch=state["epoch"] + 1, batch=0, accuracy=accuracy)
            if context.distributed.rank == 0:
                context.train.report_validation_metrics(state["steps"], {"accuracy": accuracy})
                operation.report_progress(state["epoch"])
            save(context, accelerator, state)
            if context.preempt.should_preempt():
                return
        if context.distributed.rank == 0:
            operation.report_completed(state["accuracy"])


if __name__ == "__main__":
    several = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=several) as context:
        main(context, det.get_cluster_info())
