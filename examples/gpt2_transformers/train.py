"""A small GPT-2 learns the licenses that Debian ships, byte by byte, with the Trainer of Transformers."""

import pathlib

import torch
import transformers

import determined as det
from determined.transformers import DetCallback

LENGTH = 64


class Text(torch.utils.data.Dataset):
    """Pieces of text; a token is a byte."""

    def __init__(self, text):
        self.pieces = torch.frombuffer(bytearray(text), dtype=torch.uint8).long().unfold(0, LENGTH, LENGTH)

    def __len__(self):
        return len(self.pieces)

    def __getitem__(self, index):
        return {"input_ids": self.pieces[index], "labels": self.pieces[index]}


def data(config):
    files = sorted(path for path in pathlib.Path(config["directory"]).iterdir() if path.is_file())
    text = b"".join(path.read_bytes() for path in files)[: config.get("bytes")]
    held_out = len(text) // 10
    return Text(text[:-held_out]), Text(text[-held_out:])


def model(hparams):
    width = hparams["width"]
    made = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=256, n_positions=LENGTH, n_embd=width, n_layer=2, n_head=2, bos_token_id=None, eos_token_id=None
        )
    )
    if rank := hparams.get("lora_rank"):
        import peft

        made = peft.get_peft_model(made, peft.LoraConfig(r=rank, target_modules=["c_attn"], task_type="CAUSAL_LM"))
    return made


def main(context, info, callbacks=()):
    hparams, config = info.trial.hparams, info.trial.experiment_config
    transformers.set_seed(info.trial.trial_seed)
    train, validation = data(config["data"])
    args = transformers.TrainingArguments(
        output_dir="output",
        max_steps=config["searcher"]["max_length"]["batches"],
        seed=info.trial.trial_seed,
        disable_tqdm=True,
        report_to=[],
        dataloader_pin_memory=torch.cuda.is_available(),
        **hparams["training_arguments"],
    )
    transformers.Trainer(
        model(hparams),
        args,
        train_dataset=train,
        eval_dataset=validation,
        callbacks=[DetCallback(context, args), *callbacks],
    ).train()


if __name__ == "__main__":
    with det.core.init() as context:
        main(context, det.get_cluster_info())
