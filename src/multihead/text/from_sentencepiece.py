"""A SentencePiece model (Kudo and Richardson 2018) as our tokenizer, for a vocabulary numbered elsewhere.

Marian's models come with one ``.spm`` file a side, which says how text is cut, and one ``vocab.json``, which
numbers the pieces of both. Of each file a tokenizer with all these numbers is made; what only the other side
cuts keeps its number, and is never cut here.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Library

from multihead.errors import UserError
from multihead.text.tokenizer import END, PAD, UNKNOWN, Tokenizer

SPACE = "▁"
_NORMAL, _UNKNOWN, _CONTROL, _UNUSED = 1, 2, 3, 5
"""ModelProto.SentencePiece.Type"""
_UNIGRAM = 1
"""TrainerSpec.ModelType"""


@dataclass(frozen=True)
class _Model:
    """What counts in a model file: the score of each piece of text, and how text is normalised."""

    scores: Mapping[str, float]
    charts: bytes


def from_sentencepiece(content: bytes, numbers: Mapping[str, int], *, place: str = "model") -> Tokenizer:
    """Return a tokenizer that cuts as a SentencePiece unigram model does.

    Pieces of the model without a number are left out: text is cut into those that have one. Where the model
    would use none of those, the pieces are the same (but for ties, which SentencePiece adds up in float32).

    Args:
        content: of the ``.model`` or ``.spm`` file.
        numbers: the id of each piece, that of ``<pad>``, ``<unk>`` and ``</s>`` among them. Those in double
            angle brackets, as ``>>fra<<``, are signs that stand in the text.
        place: what an error names.

    Raises:
        UserError: not such a model; one that cuts in ways that cannot be had here; numbers with gaps.
    """
    model = _read(content, place)
    names = sorted(numbers, key=numbers.__getitem__)
    if [numbers[name] for name in names] != list(range(len(names))):
        raise UserError("the vocabulary's ids have gaps or repeat", place=place)
    if UNKNOWN not in numbers:
        raise UserError(f"no symbol {UNKNOWN} in the vocabulary", place=place)
    lowest = min(model.scores.values())  # what is unknown costs 10 more than this
    vocabulary = [(_own(name, model), model.scores.get(name, lowest)) for name in names]
    library = Library(models.Unigram(vocabulary, unk_id=numbers[UNKNOWN], byte_fallback=False))
    library.normalizer = normalizers.Sequence(
        [
            *_charts(model, place),
            normalizers.Replace(Regex(" +"), " "),
            normalizers.Replace(Regex(r"\A | \z"), ""),
        ]
    )
    # A control symbol's name in a text is cut after its first letter: it is text.
    marks = "|".join(f"{name[0]}(?={name[1:]})" for name in (PAD, UNKNOWN, END))
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always", split=True),
            pre_tokenizers.Split(Regex(marks), "merged_with_previous"),
        ]
    )
    library.decoder = decoders.Sequence(
        [decoders.Replace(Regex(f"(?<=.){SPACE}$"), ""), decoders.Metaspace(replacement=SPACE)]
    )
    library.add_tokens([AddedToken(name, normalized=False) for name in names if _is_sign(name)])
    return Tokenizer.from_json(library.to_str(), place=place)


def _charts(model: _Model, place: str) -> list[normalizers.Normalizer]:
    try:
        return [normalizers.Precompiled(model.charts)] if model.charts else []
    except Exception:  # the library raises no special one
        raise UserError("a SentencePiece model with damaged rules for characters", place=place) from None


def _own(name: str, model: _Model) -> str:
    """Return a piece's name here: with a space after it where it is not to be found in any text.

    Text is cut before spaces first, so that nothing with a space inside is ever found.
    """
    found = name in model.scores or name in (PAD, UNKNOWN, END) or _is_sign(name)
    return name if found else name + SPACE


def _is_sign(name: str) -> bool:
    return len(name) > 4 and name.startswith(">>") and name.endswith("<<")


def _read(content: bytes, place: str) -> _Model:
    try:
        model = list(_fields(content))
        pieces = [_piece(value) for field, value in model if field == 1]
        trainer, normalizer = (dict(_fields(_last(model, field))) for field in (2, 3))
        charts = normalizer.get(2, b"")
        # trainer.model_type, normalizer.add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces,
        # trainer.treat_whitespace_as_suffix
        how = [
            trainer.get(3, _UNIGRAM),
            *(normalizer.get(field, 1) for field in (3, 4, 5)),
            trainer.get(24, 0),
        ]
        scores = {piece: score for piece, score, kind in pieces if kind == _NORMAL}
        odd = [piece for piece, _, kind in pieces if kind not in (_NORMAL, _UNKNOWN, _CONTROL, _UNUSED)]
        odd += [piece for piece in scores if SPACE in piece[1:]]
    except (ValueError, LookupError, TypeError, AttributeError, struct.error):
        raise UserError("not a SentencePiece model", place=place) from None
    if not scores:
        raise UserError("not a SentencePiece model", place=place)
    if how != [_UNIGRAM, 1, 1, 1, 0] or odd:
        what = f'pieces like "{odd[0]}"' if odd else "another kind or other rules for spaces than the usual"
        raise UserError(
            f"a SentencePiece model with {what}, which cannot be had here",
            place=place,
            remedy="Convert it to a tokenizer.json, and put that in its place.",
        )
    return _Model(scores, charts)


def _piece(message: Any) -> tuple[str, float, int]:
    fields = dict(_fields(message))
    return fields[1].decode(), struct.unpack("<f", fields.get(2, bytes(4)))[0], fields.get(3, _NORMAL)


def _last(model: list[tuple[int, Any]], wanted: int) -> bytes:
    """Return the message in a field, an empty one where it is not there."""
    return next((value for field, value in reversed(model) if field == wanted), b"")


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field of a protocol buffer: whole numbers, or bytes.

    Raises:
        ValueError: no such message.
    """
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        field, kind = tag >> 3, tag & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield field, value
            continue
        length = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            length, place = _varint(message, place)
        if length is None or place + length > len(message):
            raise ValueError("cut off, or a kind of field that there is not")
        yield field, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Return a whole number in groups of seven bits, ten at most, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        value |= (message[place] & 127) << shift
        place += 1
        if message[place - 1] < 128:
            return value, place
    raise ValueError("a number of more than 64 bits")
