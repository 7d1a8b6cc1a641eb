"""Conversion of a SentencePiece unigram model (Kudo and Richardson 2018) whose ids come from another file.

A Marian model has one ``.spm`` file a side, which segments text, and one ``vocab.json``, which gives ids to
the pieces of both sides. Each side's tokenizer holds the whole vocabulary; pieces of the other side keep
their ids but never match text.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
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
MAX_BYTES = 1 << 23
"""Models of 256,000 pieces take 5 MB."""
MAX_FIELDS, MAX_INNER = 400_000, 1000


@dataclass(frozen=True)
class _Model:
    """The contents of a model file: a log-probability for each piece, and the normalisation rules."""

    scores: Mapping[str, float]
    charsmap: bytes


def from_sentencepiece(content: bytes, ids: Mapping[str, int], *, place: str = "model") -> Tokenizer:
    """Return a tokenizer that segments text as a SentencePiece unigram model does.

    Pieces of the model without an id are not used. Text that needs none of them is segmented exactly as by
    SentencePiece, except for ties (SentencePiece sums scores in float32).

    Args:
        content: contents of the ``.model`` or ``.spm`` file.
        ids: the id of each piece, including ``<pad>``, ``<unk>`` and ``</s>``. Pieces in double angle
            brackets, such as ``>>fra<<``, are tags that may occur in the text.
        place: place named in errors.

    Raises:
        UserError: not a SentencePiece model, an unsupported one, or ids with gaps.
    """
    model = _read(content, place)
    names = sorted(ids, key=ids.__getitem__)
    if [ids[name] for name in names] != list(range(len(names))):
        raise UserError("the vocabulary's ids have gaps or repeat", place=place)
    if UNKNOWN not in ids:
        raise UserError(f"no token {UNKNOWN} in the vocabulary", place=place)
    lowest = min(model.scores.values())  # an unknown character costs 10 more than this
    vocabulary = [(_name(name, model), model.scores.get(name, lowest)) for name in names]
    library = Library(models.Unigram(vocabulary, unk_id=ids[UNKNOWN], byte_fallback=False))
    library.normalizer = normalizers.Sequence(
        [
            *_charsmap(model, place),
            normalizers.Replace(Regex(" +"), " "),
            normalizers.Replace(Regex(r"\A | \z"), ""),
        ]
    )
    # The name of a special token in a text is text, so it is split after its first character.
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
    library.add_tokens([AddedToken(name, normalized=False) for name in names if _is_tag(name)])
    return Tokenizer.from_json(library.to_str(), place=place)


def _charsmap(model: _Model, place: str) -> list[normalizers.Normalizer]:
    try:
        return [normalizers.Precompiled(model.charsmap)] if model.charsmap else []
    except Exception:  # the library raises nothing narrower
        raise UserError(
            "the normalisation rules of the SentencePiece model are damaged", place=place
        ) from None


def _name(name: str, model: _Model) -> str:
    """Return the name of a piece in the vocabulary; a piece of the other side gets a space at its end.

    The pre-tokenizer splits before spaces, so such a piece never matches.
    """
    matches = name in model.scores or name in (PAD, UNKNOWN, END) or _is_tag(name)
    return name if matches else name + SPACE


def _is_tag(name: str) -> bool:
    return len(name) > 4 and name.startswith(">>") and name.endswith("<<")


def _read(content: bytes, place: str) -> _Model:
    try:
        if len(content) > MAX_BYTES:
            raise ValueError
        model = list(islice(_fields(content), MAX_FIELDS))
        if len(model) == MAX_FIELDS:
            raise ValueError
        pieces = [_piece(value) for field, value in model if field == 1]
        trainer, normalizer = (dict(islice(_fields(_last(model, field)), MAX_INNER)) for field in (2, 3))
        charsmap = normalizer.get(2, b"")
        # trainer.model_type, normalizer.add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces,
        # trainer.treat_whitespace_as_suffix
        options = [
            trainer.get(3, _UNIGRAM),
            *(normalizer.get(field, 1) for field in (3, 4, 5)),
            trainer.get(24, 0),
        ]
        scores = {piece: score for piece, score, kind in pieces if kind == _NORMAL}
        unsupported = [
            piece for piece, _, kind in pieces if kind not in (_NORMAL, _UNKNOWN, _CONTROL, _UNUSED)
        ]
        unsupported += [piece for piece in scores if SPACE in piece[1:]]
    except (ValueError, LookupError, TypeError, AttributeError, struct.error):
        raise UserError("not a SentencePiece model", place=place) from None
    if not scores:
        raise UserError("not a SentencePiece model", place=place)
    if options != [_UNIGRAM, 1, 1, 1, 0] or unsupported:
        reason = (
            f'pieces like "{unsupported[0]}"'
            if unsupported
            else "it is not a unigram model, or its white-space options are not the default ones"
        )
        raise UserError(
            f"unsupported SentencePiece model: {reason}",
            place=place,
            remedy="Replace it with a tokenizer.json converted from it.",
        )
    return _Model(scores, charsmap)


def _piece(message: Any) -> tuple[str, float, int]:
    fields = dict(islice(_fields(message), MAX_INNER))
    return fields[1].decode(), struct.unpack("<f", fields.get(2, bytes(4)))[0], fields.get(3, _NORMAL)


def _last(model: list[tuple[int, Any]], number: int) -> bytes:
    """Return the last message in a field; empty if there is none."""
    return next((value for field, value in reversed(model) if field == number), b"")


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and value (an integer or bytes) of each field of a protocol buffer."""
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
            raise ValueError("truncated message or unknown wire type")
        yield field, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Decode a varint of at most ten bytes; return it and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        value |= (message[place] & 127) << shift
        place += 1
        if message[place - 1] < 128:
            return value, place
    raise ValueError("varint of more than 64 bits")
