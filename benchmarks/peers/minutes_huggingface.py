"""A Marian model of Hugging Face, trained for so many minutes on a corpus of lines, and its translations.

    python benchmarks/peers/minutes_huggingface.py --train train.en train.it --test test.en test.it \
        --minutes 30 --out marian.it

What somebody would write who knows `transformers`: a SentencePiece vocabulary of both sides, batches of
similar lengths, AdamW in bf16 with warm-up, a cosine that ends with the time, clipped gradients, label
smoothing, and a beam of 5. Everything from reading the text on counts; translating does not. Prints JSON.
"""

import argparse
import io
import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import sacrebleu
import sentencepiece
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import MarianConfig, MarianMTModel

PAD, BEGIN, END = 0, 1, 2
MOST_PIECES = 256
"""Longer pairs are left out; longer sources are cut."""
POOL = 100
"""Batches whose pairs are sorted by length together."""
Pair = tuple[list[int], list[int]]


def main() -> None:
    """Train, translate, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", nargs=2, type=Path, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--test", nargs=2, type=Path, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--out", type=Path, required=True, help="file of the translations")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--d-model", type=int, default=256)
    parser.add_argument("--d-ff", type=int, default=512)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--vocab", type=int, default=8000)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    settings = parser.parse_args()
    began = time.monotonic()
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    sides = [path.read_text(encoding="utf-8").splitlines() for path in settings.train]
    pieces = _pieces([*sides[0], *sides[1]], settings.vocab)
    encoded = [pieces.encode(side, add_eos=True) for side in sides]
    pairs = [pair for pair in zip(*encoded, strict=True) if max(map(len, pair)) <= MOST_PIECES]
    model = MarianMTModel(_config(settings, pieces.get_piece_size()))
    updates = _train(model, pairs, settings, began)
    trained = time.monotonic()
    sources = settings.test[0].read_text(encoding="utf-8").splitlines()
    texts = _translate(model, pieces, sources)
    settings.out.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    references = settings.test[1].read_text(encoding="utf-8").splitlines()
    result = {
        "system": "Hugging Face Marian",
        "settings": {
            key: value if not isinstance(value, Path) else value.name
            for key, value in vars(settings).items()
            if key not in ("train", "test", "out")
        },
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "updates": updates,
        "minutes_to_train": round((trained - began) / 60, 2),
        "minutes_to_translate": round((time.monotonic() - trained) / 60, 2),
        "bleu": round(sacrebleu.corpus_bleu(texts, [references]).score, 2),
        "chrf": round(sacrebleu.corpus_chrf(texts, [references]).score, 2),
    }
    print(json.dumps(result, indent=2))


def _pieces(lines: list[str], size: int) -> sentencepiece.SentencePieceProcessor:
    """Return a vocabulary of both sides."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, model_type="bpe",
        character_coverage=0.9999, pad_id=PAD, bos_id=BEGIN, eos_id=END, unk_id=3, minloglevel=2,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def _config(settings: argparse.Namespace, vocabulary: int) -> MarianConfig:
    return MarianConfig(
        vocab_size=vocabulary,
        d_model=settings.d_model,
        encoder_layers=settings.layers,
        decoder_layers=settings.layers,
        encoder_attention_heads=settings.heads,
        decoder_attention_heads=settings.heads,
        encoder_ffn_dim=settings.d_ff,
        decoder_ffn_dim=settings.d_ff,
        activation_function="relu",
        dropout=settings.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        max_position_embeddings=2 * MOST_PIECES,
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=None,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )


def _train(model: MarianMTModel, pairs: list[Pair], settings: argparse.Namespace, began: float) -> int:
    """Train until the time is over; return the number of updates."""
    model.train()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=0.0, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    end = began + 60 * settings.minutes
    start = time.monotonic()
    for number, batch in enumerate(_batches(pairs, settings.batch_tokens, settings.seed)):
        now = time.monotonic()
        if now >= end:
            return number
        share = (now - start) / (end - start)
        warm = min(1.0, (number + 1) / settings.warmup)
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * warm * (0.5 + 0.5 * math.cos(math.pi * share))
        source_BS, target_BT = (_pad(list(side)) for side in zip(*batch, strict=True))
        begins_B1 = torch.full((len(batch), 1), BEGIN)
        with torch.autocast("cpu", torch.bfloat16):
            logits_BTV = model(
                input_ids=source_BS,
                attention_mask=(source_BS != PAD).long(),
                decoder_input_ids=torch.cat([begins_B1, target_BT[:, :-1]], dim=1),
                use_cache=False,
            ).logits
            loss = cross_entropy(
                logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, label_smoothing=0.1
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    raise AssertionError("batches never end")


def _batches(pairs: list[Pair], tokens: int, seed: int) -> Iterator[list[Pair]]:
    """Yield batches without end: of similar lengths, of up to so many tokens of the longer side."""
    chance = random.Random(seed)
    order = list(range(len(pairs)))
    mean = sum(max(map(len, pair)) for pair in pairs) / len(pairs)
    pool = max(1, int(POOL * tokens / mean))
    while True:
        chance.shuffle(order)
        batches: list[list[Pair]] = []
        for first in range(0, len(order), pool):
            batch: list[Pair] = []
            for pair in sorted((pairs[place] for place in order[first : first + pool]), key=_length):
                if batch and (len(batch) + 1) * _length(pair) > tokens:
                    batches.append(batch)
                    batch = []
                batch.append(pair)
            batches.append(batch)
        chance.shuffle(batches)
        yield from batches


def _length(pair: Pair) -> int:
    return max(map(len, pair))


def _pad(rows: list[list[int]]) -> torch.Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


@torch.inference_mode()
def _translate(
    model: MarianMTModel, pieces: sentencepiece.SentencePieceProcessor, sources: list[str]
) -> list[str]:
    """Return the translations, by a beam of 5."""
    model.eval()
    encoded = [[*row[: MOST_PIECES - 1], END] for row in pieces.encode(sources)]
    order = sorted(range(len(encoded)), key=lambda place: len(encoded[place]))
    texts = [""] * len(encoded)
    for first in range(0, len(order), 32):
        places = order[first : first + 32]
        rows_BS = _pad([encoded[place] for place in places])
        outputs = model.generate(
            input_ids=rows_BS,
            attention_mask=(rows_BS != PAD).long(),
            num_beams=5,
            max_new_tokens=min(MOST_PIECES, 50 + 2 * rows_BS.shape[1]),
        )
        decoded = pieces.decode([[token for token in row if token > END] for row in outputs.tolist()])
        for place, text in zip(places, decoded, strict=True):
            texts[place] = text
    return texts


if __name__ == "__main__":
    main()
