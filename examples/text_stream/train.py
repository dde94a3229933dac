"""Tells from a line of text which license it belongs to; the lines are read as a stream, whose position is saved.

`source` is "list" (a data set in memory, shuffled), "datasets" (a stream of Hugging Face Datasets) or "webdataset" (shards
of WebDataset). Two worker processes read it.
"""

import itertools
import pathlib
import tempfile

import torch
from torch import nn
from torchdata.stateful_dataloader import StatefulDataLoader

import determined as det


def lines(config):
    files = sorted(path for path in pathlib.Path(config["directory"]).iterdir() if path.is_file())
    for label, file in enumerate(files):
        for line in file.read_text(errors="replace").splitlines()[: config["lines"]]:
            if line.strip():
                yield {"text": line.strip(), "label": label}


def loader(source, records, seed, batch_size):
    generator = torch.Generator().manual_seed(seed)  # of the order, and of the seeds of the workers
    common = {"batch_size": batch_size, "num_workers": 2, "collate_fn": collate, "generator": generator}
    if source == "list":
        return StatefulDataLoader(records, shuffle=True, **common)
    if source == "datasets":
        import datasets

        data = datasets.Dataset.from_list(records).shuffle(seed=seed).to_iterable_dataset(num_shards=4)
        return StatefulDataLoader(data, **common)
    import webdataset

    folder = pathlib.Path(tempfile.mkdtemp(prefix="shards-"))
    with webdataset.ShardWriter(str(folder / "%04d.tar"), maxcount=len(records) // 4 + 1, verbose=0) as writer:
        for number, record in enumerate(records):
            writer.write({"__key__": str(number), "txt": record["text"], "cls": record["label"]})
    shards = sorted(map(str, folder.glob("*.tar")))
    data = webdataset.WebDataset(shards, shardshuffle=False, seed=seed).shuffle(100, seed=seed).decode()
    return StatefulDataLoader(data.map(lambda one: {"text": one["txt"], "label": one["cls"]}), **common)


def collate(records):
    texts = [torch.frombuffer(bytearray(one["text"].encode()), dtype=torch.uint8).long() for one in records]
    offsets = torch.tensor([0, *itertools.accumulate(len(text) for text in texts)][:-1])
    return torch.cat(texts), offsets, torch.tensor([one["label"] for one in records])


def main(context, info, after_step=lambda step: None):
    hparams, config = info.trial.hparams, info.trial.experiment_config
    torch.manual_seed(info.trial.trial_seed)
    records = list(lines(config["data"]))
    model = nn.Sequential(nn.EmbeddingBag(256, 32), nn.Linear(32, 1 + max(one["label"] for one in records)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = loader(hparams["source"], records, info.trial.trial_seed, hparams["batch_size"])
    step = 0
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            state = torch.load(path / "state.pth", weights_only=False)
        step = state["step"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        data.load_state_dict(state["data"])

    def save():
        with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
            parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": data.state_dict()}
            torch.save({"step": step, "generator": data.generator.get_state(), **parts}, path / "state.pth")

    batches = iter(data)
    if info.latest_checkpoint:
        data.generator.set_state(state["generator"])  # beginning to read draws from it, which was done before
    for operation in context.searcher.operations():
        while step < operation.length:
            batch = next(batches, None)
            if batch is None:  # the next epoch
                batches = iter(data)
                batch = next(batches)
            texts, offsets, labels = batch
            loss = nn.functional.cross_entropy(model[1](model[0](texts, offsets)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            context.train.report_training_metrics(step, {"loss": loss.item()})
            after_step(step)
            if context.preempt.should_preempt():
                save()
                return
        context.train.report_validation_metrics(step, {"loss": loss.item()})
        operation.report_completed(loss.item())
        save()


if __name__ == "__main__":
    with det.core.init() as context:
        main(context, det.get_cluster_info())
