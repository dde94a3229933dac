"""A network that is sharded over any number of slots (FSDP2) classifies pictures of clothes (Fashion-MNIST).

A checkpoint has the shards of all ranks (torch.distributed.checkpoint). A trial may resume on another number of slots.
"""

import gzip
import json
import pathlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import determined as det


def load(config, part):
    def read(name, header):
        with gzip.open(pathlib.Path(config["directory"]) / f"{part}-{name}-ubyte.gz") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[header:]

    return read("images-idx3", 16).view(-1, 784)[: config["images"]] / 255, read("labels-idx1", 8).long()[: config["images"]]


def batches(images, labels, seed, state, size, rank, ranks):
    """This rank's part of each batch from the state's position on. The order depends on seed and epoch alone."""
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed + state["epoch"]))
    for batch in order.split(size)[state["batch"] :]:
        mine = batch[rank::ranks]
        yield images[mine], labels[mine], len(batch)


def save(context, model, optimizer, state):
    weights, optimizer_state = get_state_dict(model, optimizer)
    with context.checkpoint.store_path({"steps_completed": state["steps"]}, shard=True) as (path, _):
        dcp.save({"model": weights, "optimizer": optimizer_state}, checkpoint_id=path)
        if context.distributed.rank == 0:
            (path / "state.json").write_text(json.dumps(state))


def restore(path, model, optimizer):
    weights, optimizer_state = get_state_dict(model, optimizer)
    dcp.load({"model": weights, "optimizer": optimizer_state}, checkpoint_id=path)
    set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=optimizer_state)
    return json.loads((path / "state.json").read_text())


def main(context, info, after_step=lambda step: None):
    hparams, config = info.trial.hparams, info.trial.experiment_config
    rank, ranks, seed = context.distributed.rank, context.distributed.size, info.trial.trial_seed
    device = torch.device("cuda", context.distributed.local_rank) if torch.cuda.is_available() else torch.device("cpu")
    mesh = init_device_mesh(device.type, (ranks,))
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(784, hparams["width"]), nn.ReLU(), nn.Linear(hparams["width"], 10)).to(device)
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=hparams["learning_rate"])
    images, labels = load(config["data"], "train")
    test_images, test_labels = load(config["data"], "t10k")
    state = {"steps": 0, "epoch": 0, "batch": 0}
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            state = restore(path, model, optimizer)

    for operation in context.searcher.operations():
        while state["epoch"] < operation.length:
            for x, y, size in batches(images, labels, seed, state, hparams["global_batch_size"], rank, ranks):
                # FSDP averages gradients over ranks: this is the average over the whole batch.
                loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device), reduction="sum") * ranks / size
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                state.update(steps=state["steps"] + 1, batch=state["batch"] + 1)
                average = sum(context.distributed.allgather(loss.item())) / ranks
                if rank == 0:
                    context.train.report_training_metrics(state["steps"], {"loss": average, "ranks": ranks})
                after_step(state["steps"])
                if context.preempt.should_preempt():
                    save(context, model, optimizer, state)
                    return
            with torch.no_grad():
                right = (model(test_images.to(device)).argmax(1).cpu() == test_labels).float().mean().item()
            state.update(epoch=state["epoch"] + 1, batch=0, accuracy=right)
            if rank == 0:
                context.train.report_validation_metrics(state["steps"], {"accuracy": right})
                operation.report_progress(state["epoch"])
            save(context, model, optimizer, state)
        if rank == 0:
            operation.report_completed(state["accuracy"])


if __name__ == "__main__":
    dist.init_process_group()
    several = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=several) as context:
        main(context, det.get_cluster_info())
    dist.destroy_process_group()
