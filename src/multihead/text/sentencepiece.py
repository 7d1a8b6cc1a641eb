"""Export of a BPE or unigram tokenizer as a SentencePiece model.

The file is a protocol buffer (``sentencepiece_model.proto``). It needs only strings, integers and floats, so
they are encoded here, without a dependency.
"""

import struct
from collections.abc import Mapping, Sequence

from multihead.errors import UserError
from multihead.text.pieces import BYTES, complete_merges, script_pre_tokenizer
from multihead.text.symbols import SPACE, metaspace
from multihead.text.tokenizer import Tokenizer

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6
"""ModelProto.SentencePiece.Type"""
_MODELS = {"Unigram": 1, "BPE": 2}
"""TrainerSpec.ModelType of a ``tokenizer.json``'s model."""
_UNKNOWN_PENALTY = 10.0
"""Score of an unknown character, below that of the least probable piece."""
_NONE = -1
"""Id of a special token that a vocabulary lacks."""


def to_sentencepiece(
    tokenizer: Tokenizer,
    order: Sequence[int | None] | None = None,
    characters: Mapping[int, str] | None = None,
) -> bytes:
    """Return the contents of a ``.model`` file that gives the same ids for normalised text.

    Pass SentencePiece text from ``tokenizer.normalize``. The model handles spaces itself, but neither NFC nor
    lower case: SentencePiece's normalisation rules offer them only together with compatibility forms.
    Reserved symbols are user-defined symbols there: it reads marked text as ``MarkedTokenizer`` does, but
    without escapes, so text spelt like a symbol becomes one.

    Args:
        tokenizer: trained by multihead.
        order: for each id of the file, the id in the tokenizer; None: an id that no text yields. Left-out
            special tokens do not exist in the file. Default: the tokenizer's own ids.
        characters: ids of the file that stand for a character without a piece, in place of its byte piece.

    Raises:
        UserError: not a BPE or unigram tokenizer with byte fallback trained by multihead.
    """
    scores = _scores(tokenizer)
    order = range(tokenizer.vocab_size) if order is None else order
    places = {number: place for place, number in enumerate(order) if number is not None}
    kinds = {tokenizer.unk_id: _UNKNOWN}
    kinds |= dict.fromkeys((tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id), _CONTROL)
    kinds |= dict.fromkeys(tokenizer.symbols.values(), _USER_DEFINED)
    pieces = b""
    for place, number in enumerate(order):
        if number is None:
            pieces += _message(1, _text(1, f"<unused {place}>") + _float(2, 0.0) + _number(3, _UNUSED))
            continue
        piece = (characters or {}).get(place, tokenizer.piece(number))
        kind = kinds.get(number, _BYTE if piece in BYTES else _NORMAL)
        score = scores[number] if kind == _NORMAL else 0.0
        if place in (characters or {}):
            score = min(scores) - _UNKNOWN_PENALTY  # as if it were unknown
        pieces += _message(1, _text(1, piece) + _float(2, score) + _number(3, kind))
    trainer = (
        _number(3, _MODELS[tokenizer.content["model"]["type"]])
        + _number(4, len(order))
        + _number(35, True)  # byte_fallback
        + _number(40, places[tokenizer.unk_id])
        + _number(41, places.get(tokenizer.bos_id, _NONE))
        + _number(42, places[tokenizer.eos_id])
        + _number(43, places.get(tokenizer.pad_id, _NONE))
        + _text(45, tokenizer.piece(tokenizer.unk_id))
        + _text(46, tokenizer.piece(tokenizer.bos_id))
        + _text(47, tokenizer.piece(tokenizer.eos_id))
        + _text(48, tokenizer.piece(tokenizer.pad_id))
    )
    # add_dummy_prefix, remove_extra_whitespaces and escape_whitespaces are on by default.
    normalizer = _text(1, "identity")
    return pieces + _message(2, trainer) + _message(3, normalizer)


def _scores(tokenizer: Tokenizer) -> Sequence[float]:
    """The score of each piece; refuse a tokenizer that SentencePiece would not reproduce."""
    model, rule = tokenizer.content["model"], tokenizer.content["pre_tokenizer"] or {}
    names = [tokenizer.piece(number) for number in range(tokenizer.vocab_size)]
    if model.get("byte_fallback") and set(BYTES) <= set(names):
        fixed = {*BYTES, *(names[number] for number in tokenizer.special_ids)}
        normal = [name for name in names if name not in fixed]
        merges = [tuple(pair) for pair in model.get("merges", ())]
        if model["type"] == "BPE" and rule.get("type") == "Metaspace" and merges == complete_merges(normal):
            # The highest score is merged first, hence minus the id.
            return [-float(number) for number in range(len(names))]
        # SentencePiece does not split text into parts, so no piece may span two of them.
        parts = script_pre_tokenizer(split_digits=False).pre_tokenize_str
        whole = all(len(parts(piece.replace(SPACE, " "))) == 1 for piece in normal)
        if model["type"] == "Unigram" and metaspace(tokenizer.content) and whole:
            return [score for _, score in model["vocab"]] + [0.0] * (len(names) - len(model["vocab"]))
    fact = "only a BPE or unigram tokenizer trained by multihead can be exported to SentencePiece"
    raise UserError(fact, place="tokenizer", remedy='Train one with tokenizer.kind = "bpe" or "unigram".')


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Encode an integer as a varint: seven bits a byte, lowest first; the eighth bit marks continuation."""
    groups = bytearray()
    value &= 2**64 - 1  # a negative number has ten groups
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
