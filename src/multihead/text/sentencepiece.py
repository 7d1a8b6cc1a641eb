"""Export of a BPE tokenizer as a SentencePiece model.

The file is a protocol buffer (``sentencepiece_model.proto``). It needs only strings, integers and floats, so
they are encoded here, without a dependency.
"""

import struct

from multihead.errors import UserError
from multihead.text.pieces import BYTES, complete_merges
from multihead.text.tokenizer import Tokenizer

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
"""ModelProto.SentencePiece.Type"""
_BPE = 2
"""TrainerSpec.ModelType"""


def to_sentencepiece(tokenizer: Tokenizer) -> bytes:
    """Return the contents of a ``.model`` file that gives the same ids for normalised text.

    Pass SentencePiece text from ``tokenizer.normalize``. The model handles spaces itself, but neither NFC nor
    lower case: SentencePiece's normalisation rules offer them only together with compatibility forms.
    Reserved symbols are user-defined symbols there: it reads marked text as ``MarkedTokenizer`` does, but
    without escapes, so text spelt like a symbol becomes one.

    Raises:
        UserError: not a BPE tokenizer with byte fallback trained by multihead.
    """
    _check(tokenizer)
    kinds = {tokenizer.unk_id: _UNKNOWN}
    kinds |= dict.fromkeys((tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id), _CONTROL)
    kinds |= dict.fromkeys(tokenizer.symbols.values(), _USER_DEFINED)
    pieces = b""
    for number in range(tokenizer.vocab_size):
        piece = tokenizer.piece(number)
        kind = kinds.get(number, _BYTE if piece in BYTES else _NORMAL)
        # The highest score is merged first, hence minus the id.
        score = -float(number) if kind == _NORMAL else 0.0
        pieces += _message(1, _text(1, piece) + _float(2, score) + _number(3, kind))
    trainer = (
        _number(3, _BPE)
        + _number(4, tokenizer.vocab_size)
        + _number(35, True)  # byte_fallback
        + _number(40, tokenizer.unk_id)
        + _number(41, tokenizer.bos_id)
        + _number(42, tokenizer.eos_id)
        + _number(43, tokenizer.pad_id)
        + _text(45, tokenizer.piece(tokenizer.unk_id))
        + _text(46, tokenizer.piece(tokenizer.bos_id))
        + _text(47, tokenizer.piece(tokenizer.eos_id))
        + _text(48, tokenizer.piece(tokenizer.pad_id))
    )
    # add_dummy_prefix, remove_extra_whitespaces and escape_whitespaces are on by default.
    normalizer = _text(1, "identity")
    return pieces + _message(2, trainer) + _message(3, normalizer)


def _check(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that SentencePiece would not reproduce."""
    model, pre_tokenizer = tokenizer.content["model"], tokenizer.content["pre_tokenizer"] or {}
    names = [tokenizer.piece(number) for number in range(tokenizer.vocab_size)]
    normal = [name for id, name in enumerate(names) if id not in tokenizer.special_ids and name not in BYTES]
    if not (
        model["type"] == "BPE"
        and model["byte_fallback"]
        and set(BYTES) <= set(names)
        and pre_tokenizer.get("type") == "Metaspace"
        and [tuple(pair) for pair in model["merges"]] == complete_merges(normal)
    ):
        fact = "only a BPE tokenizer trained by multihead can be exported to SentencePiece"
        raise UserError(fact, place="tokenizer", remedy='Train one with tokenizer.kind = "bpe" (or "chars").')


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
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
