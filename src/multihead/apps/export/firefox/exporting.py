"""The export of a run to Firefox's engine: refusals, calibration, verification, files."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from multihead.apps.export import manifest
from multihead.apps.export.expressible import different_model, expressible_description
from multihead.apps.export.firefox import binary
from multihead.apps.export.firefox.expressible import not_expressible
from multihead.apps.export.firefox.parameters import FirefoxVocabulary, parameters, settings
from multihead.apps.export.firefox.quantisation import activations, quantise
from multihead.apps.export.firefox.reference import EOS, FirefoxReference, longest_output
from multihead.apps.export.folder import refuse_used, write_folder
from multihead.apps.export.greedy_tokens import greedy_tokens
from multihead.errors import UserError
from multihead.nn.description import EncoderDecoderSpec
from multihead.run import Run
from multihead.search.request import LengthLimits
from multihead.text.sentencepiece import to_sentencepiece
from multihead.text.tokenizer import Tokenizer

TARGET = "firefox"
FLOAT, INT8, VOCABULARY, SETTINGS, DECODER = (
    "model.float32.bin", "model.intgemm8.bin", "vocab.spm", "model.yml", "config.yml",
)  # fmt: skip
"""Files of the export."""
CALIBRATION = 256
"""Number of sentences translated for calibration and verification."""
LONGEST = 100
"""Maximum length of a calibration sentence, in tokens."""
TOLERANCE = 1e-3
"""Tolerance of logits relative to their range; rounding in float32 causes about 1e-6."""
CONFIG = Path(__file__).with_name(DECODER)
"""Settings of Marian's decoder, as Firefox passes them."""


@dataclass(frozen=True)
class VerificationReport:
    """Results of an export's verification.

    Attributes:
        sentences: number of calibration sentences translated.
        float_agreement: fraction of them to which the float32 file gives the model's own tokens.
        int8_agreement: fraction to which the int8 file gives the float32 file's tokens.
        largest_difference: largest difference of logits from the model's, relative to their range.
        limits: largest absolute value of each int8 matrix.
        saturated: fraction of pairs of products that saturated at 127, for each matrix with a lower limit.
    """

    sentences: int
    float_agreement: float
    int8_agreement: float
    largest_difference: float
    limits: dict[str, int]
    saturated: dict[str, float]


def export(run: Run, folder: Path, lines: Sequence[str]) -> VerificationReport:
    """Write a run's model and vocabulary to a folder for Firefox's engine.

    The files' own arithmetic (``reference``) must give the model's scores; its int8 products are calibrated
    on sentences, whose translations are compared too.

    Args:
        run: a student.
        folder: new or empty; it appears when it is complete.
        lines: sentences of the source language for calibration.

    Raises:
        UserError: the engine cannot express the model or its vocabulary; there are no sentences; the folder
            is not empty.
    """
    refuse_used(folder)
    model, place = run.load_model().eval(), str(run.folder)
    source, target = run.tokenizers()
    described = expressible_description(
        model,
        EncoderDecoderSpec,
        not_expressible,
        target="Firefox's engine",
        place=place,
        remedy="Train a student for it: `multihead distill RUN -o student`.",
        faults=_vocabulary_faults(run, source, target),
    )
    vocabulary = FirefoxVocabulary.of(target)
    spm = to_sentencepiece(target, vocabulary.order, vocabulary.characters)
    floats = parameters(described, vocabulary)
    layers = len(described.encoder.layers), len(described.decoder.layers)
    reference = FirefoxReference(floats, layers, described.encoder.layers[0].self_attention.heads)
    sentences = _sentences(source, lines)
    places = vocabulary.places
    exported = [[*(places[number] for number in ids), EOS] for ids in sentences]
    longest = [longest_output(len(ids)) for ids in exported]

    difference = _difference(model, reference, sentences[:8], target, vocabulary, place)
    plain = [reference.greedy(*inputs) for inputs in zip(exported, longest, strict=True)]
    bans = [target.pad_id, target.bos_id, target.unk_id]
    expected = [
        [
            places.get(token, EOS)
            for token in greedy_tokens(model, target, ids, LengthLimits(max_length=most), bans)
        ]
        for ids, most in zip(sentences, longest, strict=True)
    ]
    int8 = quantise(floats, activations(reference, exported, longest))
    rounded = FirefoxReference(int8.items, layers, reference.heads)
    eight = [rounded.greedy(*inputs) for inputs in zip(exported, longest, strict=True)]
    report = VerificationReport(
        sentences=len(expected),
        float_agreement=_agreement(expected, plain),
        int8_agreement=_agreement(plain, eight),
        largest_difference=difference,
        limits=dict(int8.limits),
        saturated=dict(int8.saturated),
    )
    yml = settings(described, len(vocabulary.order))

    def fill(partial: Path) -> None:
        (partial / FLOAT).write_bytes(binary.write(floats, yml))
        (partial / INT8).write_bytes(binary.write(int8.items, yml))
        (partial / VOCABULARY).write_bytes(spm)
        (partial / SETTINGS).write_text(yml, encoding="utf-8", newline="\n")
        shutil.copyfile(CONFIG, partial / DECODER)
        manifest.write(partial, TARGET, {"verified": asdict(report)})

    write_folder(folder, fill)
    return report


def _vocabulary_faults(run: Run, source: Tokenizer, target: Tokenizer) -> list[str]:
    faults = []
    if source is not target:
        faults.append("source and target have separate vocabularies (tokenizer.joint = false)")
    if target.content["model"]["type"] != "Unigram" or not target.content["model"].get("byte_fallback"):
        faults.append('tokenizer.kind is not "unigram" with byte fallback')
    if target.normalize("A") == "a":
        faults.append("data.lowercase = true, which its SentencePiece cannot do")
    if run.directions:
        faults.append("several directions: it has no language tags")
    if any(char < " " for number in range(target.vocab_size) for char in target.piece(number)):
        faults.append("pieces with control characters")
    return faults


def _sentences(tokenizer: Tokenizer, lines: Sequence[str]) -> list[list[int]]:
    """Token ids of up to ``CALIBRATION`` sentences, sampled evenly from all lines."""
    encoded = tokenizer.encode_batch(lines)
    usable = [ids for ids in encoded if 0 < len(ids) < LONGEST and tokenizer.unk_id not in ids]
    if not usable:
        fact = "no sentence to calibrate int8 with"
        raise UserError(fact, place="--calibrate", remedy="Give a file of sentences of the source language.")
    step = max(1, len(usable) // CALIBRATION)
    return usable[::step][:CALIBRATION]


@torch.inference_mode()
def _difference(
    model: nn.Module,
    reference: FirefoxReference,
    sentences: Sequence[Sequence[int]],
    tokenizer: Tokenizer,
    vocabulary: FirefoxVocabulary,
    place: str,
) -> float:
    """The largest difference of logits, relative to their range, along given targets.

    Raises:
        UserError: it is above ``TOLERANCE``.
    """
    places, written = vocabulary.places, vocabulary.written
    token_ids = [vocabulary.order[place] for place in written]
    worst = 0.0
    for ids in sentences:
        target = list(reversed(ids))[:7]
        source_BS = torch.tensor([[*ids, tokenizer.eos_id]])
        target_BT = torch.tensor([[tokenizer.bos_id, *target]])
        expected_TV = model(source_BS, target_BT, torch.tensor([source_BS.shape[1]]))[0][:, token_ids].float()
        state = reference.start([*(places[number] for number in ids), EOS])
        for row, token in zip(expected_TV, [None, *target], strict=True):
            logits = reference.step(None if token is None else places[token], state)[written]
            spread = float(row.amax() - row.amin()) or 1.0
            worst = max(worst, float((row - torch.from_numpy(logits)).abs().amax()) / spread)
    if not worst <= TOLERANCE:
        raise different_model("Firefox's engine", f"logits differ by {worst:.1e} of their range", place)
    return worst


def _agreement(ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> float:
    return sum(list(a) == list(b) for a, b in zip(ours, theirs, strict=True)) / len(ours)
