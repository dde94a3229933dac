"""A small GPT-2 learns the licenses that Debian ships, with the SFTTrainer of TRL and a tokenizer of its own."""

import pathlib

import datasets
import tokenizers
import torch
import transformers
import trl

import determined as det
from determined.transformers import DetCallback


def tokenizer(texts):
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    made.decoder = tokenizers.decoders.ByteLevel()
    special = ["<pad>", "<end>"]
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts,
        tokenizers.trainers.BpeTrainer(
            vocab_size=512, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<end>")


def paragraphs(config):
    files = sorted(path for path in pathlib.Path(config["directory"]).iterdir() if path.is_file())
    text = "".join(path.read_text(errors="replace") for path in files)[: config.get("bytes")]
    return [part.strip() for part in text.split("\n\n") if part.strip()]


def main(context, info, callbacks=()):
    hparams, config = info.trial.hparams, info.trial.experiment_config
    transformers.set_seed(info.trial.trial_seed)
    texts = paragraphs(config["data"])
    words = tokenizer(texts)
    parts = datasets.Dataset.from_dict({"text": texts}).train_test_split(0.1, shuffle=False)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=len(words), n_positions=128, n_embd=hparams["width"], n_layer=2, n_head=2,
            bos_token_id=words.eos_token_id, eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
        )
    )  # fmt: skip
    args = trl.SFTConfig(
        output_dir="output",
        max_length=128,
        max_steps=config["searcher"]["max_length"]["batches"],
        seed=info.trial.trial_seed,
        bf16=False,
        use_cpu=not torch.cuda.is_available(),
        disable_tqdm=True,
        report_to=[],
        dataloader_pin_memory=torch.cuda.is_available(),
        **hparams["training_arguments"],
    )
    trl.SFTTrainer(
        model,
        args,
        train_dataset=parts["train"],
        eval_dataset=parts["test"],
        processing_class=words,
        callbacks=[DetCallback(context, args), *callbacks],
    ).train()


if __name__ == "__main__":
    with det.core.init() as context:
        main(context, det.get_cluster_info())
