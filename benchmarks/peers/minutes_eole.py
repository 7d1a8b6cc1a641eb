"""Eole's time from raw text to a translator, everything counted: `minutes_to_bleu.py` for a peer.

    make benchmarks/peers/.envs/eole/.installed
    benchmarks/peers/.envs/eole/bin/python benchmarks/peers/minutes_eole.py --data-dir data/multi30k

Eole has no recipe for a corpus of this size; its own for WMT17 (6 + 6 layers of 512) would take hours on a
CPU. It is given what `multihead train multi30k-de-en-fast` trains: the same shape, batches, rates and number
of updates, as many subwords (SentencePiece's), through its own commands (`eole train`, `eole predict`), in
bf16, where it is fastest.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sacrebleu
import sentencepiece
import torch
import yaml

TEST = "test_2016_flickr"


def main() -> None:
    """Train, translate, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, default=Path("data/multi30k"))
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--inner", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--keep", type=Path, help="folder for what is made on the way")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        pieces = _prepare(given.data_dir, folder)
        (folder / "train.yaml").write_text(yaml.safe_dump(_config(folder, given)), encoding="utf-8")
        _eole("train", "-config", folder / "train.yaml")
        trained = time.monotonic()
        texts = _translate(folder, pieces)
        ended = time.monotonic()
    references = _lines(given.data_dir / f"{TEST}.en.gz")
    bleu = sacrebleu.corpus_bleu(texts, [references], lowercase=True)
    result = {
        "system": "eole",
        **{key: value for key, value in vars(given).items() if not isinstance(value, Path | None)},
        "threads": torch.get_num_threads(),
        "minutes_to_train": round((trained - began) / 60, 2),
        "seconds_to_train": round(trained - began, 1),
        "minutes_to_translate": round((ended - trained) / 60, 2),
        TEST: {"pairs": len(texts), "bleu_lowercase": round(bleu.score, 2)},
        "torch": torch.__version__,
    }
    print(json.dumps(result, indent=2))
    if given.out:
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _prepare(data: Path, folder: Path) -> sentencepiece.SentencePieceProcessor:
    """Learn joint pieces, and write every file as pieces, with the vocabulary that Eole reads."""
    texts = {
        f"{part}.{side}": _lines(data / f"{part}.{side}.gz")
        for part in ("train", "val")
        for side in ("de", "en")
    }
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts["train.de"] + texts["train.en"]),
        model_prefix=str(folder / "pieces"),
        vocab_size=5000,
        model_type="bpe",
        character_coverage=1.0,
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model"))
    texts["test.de"] = _lines(data / f"{TEST}.de.gz")
    for name, lines in texts.items():
        rows = (" ".join(row) for row in pieces.encode(lines, out_type=str))
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    names = [pieces.id_to_piece(number) for number in range(3, pieces.get_piece_size())]
    (folder / "vocab").write_text("".join(f"{name}\t1\n" for name in names), encoding="utf-8")
    return pieces


def _config(folder: Path, given: argparse.Namespace) -> dict[str, object]:
    """The shape and the training of multi30k-de-en-fast, in Eole's words."""
    return {
        "seed": 1,
        "src_vocab": str(folder / "vocab"),
        "tgt_vocab": str(folder / "vocab"),
        "share_vocab": True,
        "save_data": str(folder / "saved"),
        "overwrite": True,
        "report_every": 100,
        "n_sample": 0,
        "data": {
            "corpus": {"path_src": str(folder / "train.de"), "path_tgt": str(folder / "train.en")},
            "valid": {"path_src": str(folder / "val.de"), "path_tgt": str(folder / "val.en")},
        },
        "transforms": [],
        "model": {
            "architecture": "transformer",
            "layers": given.layers,
            "hidden_size": given.width,
            "heads": given.heads,
            "transformer_ff": given.inner,
            "mlp_activation_fn": "relu",
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {"word_vec_size": given.width, "position_encoding_type": "SinusoidalInterleaved"},
        },
        "training": {
            "model_path": str(folder / "model"),
            "world_size": 1,
            "gpu_ranks": [],
            "num_workers": 0,
            "compute_dtype": given.precision,
            "batch_type": "tokens",
            "batch_size": given.batch_tokens,
            "normalization": "tokens",
            "accum_count": [1],
            "bucket_size": 29000,
            "train_steps": given.updates,
            "valid_steps": given.updates,
            "save_checkpoint_steps": given.updates,
            "keep_checkpoint": 1,
            "optim": "adam",
            "adam_beta1": 0.9,
            "adam_beta2": 0.98,
            "adam_eps": 1e-9,
            "learning_rate": given.rate,
            "decay_method": "cosine",
            "warmup_steps": given.warmup,
            "max_grad_norm": 1.0,
            "label_smoothing": 0.1,
            "dropout": [0.1],
            "attention_dropout": [0.0],
            "dropout_steps": [0],
            "param_init_method": "xavier_uniform",
        },
    }


def _translate(folder: Path, pieces: sentencepiece.SentencePieceProcessor) -> list[str]:
    """The test set with a beam of 5, as text."""
    out = folder / "test.out"
    where = ["-model_path", folder / "model", "-src", folder / "test.de", "-output", out]
    _eole("predict", *where, "-beam_size", 5, "-batch_size", 64, "-max_length", 100)
    return [pieces.decode(line.split()) for line in out.read_text(encoding="utf-8").splitlines()]


def _eole(*arguments: object) -> None:
    command = [str(Path(sys.executable).parent / "eole"), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


if __name__ == "__main__":
    main()
