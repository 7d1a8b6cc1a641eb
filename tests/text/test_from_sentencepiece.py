"""Tokenizers converted from SentencePiece models, against the sentencepiece library and Marian."""

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from multihead.errors import UserError
from multihead.text.from_sentencepiece import from_sentencepiece
from multihead.text.tokenizer import Tokenizer

sentencepiece = pytest.importorskip("sentencepiece", reason="the optional sentencepiece is not installed")
transformers = pytest.importorskip("transformers", reason="the transformers library is not installed")

ODD = [
    "",
    " ",
    "  zwei   Räume  ",
    "ﬁn １２３ Ａ ① ｶﾞ e\u0301 \u00a0x\u200by\tz",
    "☃☃☃ und ☃",
    "<s> <p> </p> <",
    "日本語 뷁",
    "\u2028a\u0085b",
    "don't; 1234.",
    "😀 👩‍👩‍👧 wird",
]


def learned(sentences: list[str], size: int = 503, **more: Any) -> bytes:
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=made,
        vocab_size=size,
        minloglevel=2,
        num_threads=1,
        hard_vocab_limit=False,
        **more,
    )
    return made.getvalue()


def numbered(*models: bytes) -> dict[str, int]:
    """A vocabulary as Marian has it: end token first, both sides' pieces in any order, padding last."""
    pieces = set()
    for model in models:
        library = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces |= {library.id_to_piece(number) for number in range(library.get_piece_size())}
    chance, rest = random.Random(5), sorted(pieces - {"</s>", "<unk>"})
    chance.shuffle(rest)
    return {piece: number for number, piece in enumerate(["</s>", "<unk>", *rest, "<pad>"])}


@pytest.fixture(scope="module")
def sides(sentences: list[str]) -> tuple[bytes, bytes]:
    """One model a side, trained on texts that share some words."""
    return learned(sentences[:600]), learned(
        [text[::-1] for text in sentences[500:]], 401, normalization_rule_name="identity"
    )


def library_of(model: bytes) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def test_pieces_and_ids_are_the_librarys(sides: tuple[bytes, bytes], sentences: list[str]) -> None:
    numbers = numbered(*sides)
    for model, texts in zip(sides, (sentences, [text[::-1] for text in sentences]), strict=True):
        ours, theirs = from_sentencepiece(model, numbers), library_of(model)
        for text in [*texts, *sentences[:97]]:
            pieces = theirs.encode(text, out_type=str)
            assert ours.encode(text) == [numbers.get(piece, numbers["<unk>"]) for piece in pieces]
            if numbers["<unk>"] not in ours.encode(text):
                assert ours.decode(ours.encode(text)) == theirs.decode(pieces)


def test_unusual_texts_are_segmented_as_by_the_library(sides: tuple[bytes, bytes]) -> None:
    numbers = numbered(*sides)
    for model in sides:
        ours, theirs = from_sentencepiece(model, numbers), library_of(model)
        for text in ODD:
            expected = [numbers.get(piece, 1) for piece in theirs.encode(text, out_type=str)]
            assert ours.encode(text) == expected, text


def test_a_control_symbols_name_in_a_text_is_text(sides: tuple[bytes, bytes]) -> None:
    numbers = numbered(*sides)
    ours, theirs = from_sentencepiece(sides[0], numbers), library_of(sides[0])
    for text in ("</s>", "a</s>b <pad>", "<unk> und <unk>"):
        ids = ours.encode(text)
        assert not {ours.pad_id, ours.eos_id} & set(ids)
        # The same pieces but for one: runs of unknown letters end where the name is cut.
        known = [number for number in ids if number != ours.unk_id]
        pieces = theirs.encode(text, out_type=str)
        assert known == [numbers[piece] for piece in pieces if piece in numbers]


def test_marians_own_tokenizer_gives_the_same_ids_and_texts(
    sides: tuple[bytes, bytes], sentences: list[str], tmp_path: Path
) -> None:
    numbers = numbered(*sides)
    signed = {**numbers, ">>nds<<": len(numbers)}
    for name, model in zip(("source.spm", "target.spm"), sides, strict=True):
        (tmp_path / name).write_bytes(model)
    (tmp_path / "vocab.json").write_text(json.dumps(signed))
    theirs = transformers.MarianTokenizer(
        *(str(tmp_path / name) for name in ("source.spm", "target.spm", "vocab.json"))
    )
    source, target = (from_sentencepiece(model, signed) for model in sides)
    texts = [*sentences[:53], ">>nds<< Moin moin", "☃☃ a"]
    assert [[*source.encode(text), 0] for text in texts] == [theirs(text).input_ids for text in texts]
    assert source.encode(">>nds<< a")[0] == len(numbers)
    given = [theirs(text_target=text).input_ids for text in texts]
    assert [[*target.encode(text), 0] for text in texts] == given
    whole = [ids for ids in given if target.unk_id not in ids]  # theirs skips unknown tokens
    assert len(whole) > 37
    assert [target.decode(ids) for ids in whole] == [
        theirs.decode(ids, skip_special_tokens=True) for ids in whole
    ]
    # Pieces that only the source side produces can be decoded too.
    both = source.encode(sentences[3]) + target.encode(sentences[3][::-1])
    assert target.decode(both) == theirs.decode(both)
    assert (source.pad_id, source.bos_id, source.eos_id, source.unk_id) == (
        theirs.pad_token_id,
        theirs.pad_token_id,
        theirs.eos_token_id,
        theirs.unk_token_id,
    )


def test_a_piece_without_an_id_is_split_into_pieces_with_ids(sentences: list[str]) -> None:
    model = learned(sentences)
    theirs, numbers = library_of(model), numbered(model)
    text = max(sentences, key=len)
    lost = max(theirs.encode(text, out_type=str), key=len)
    left = {piece: n for n, piece in enumerate(piece for piece in numbers if piece != lost)}
    ours = from_sentencepiece(model, left)
    assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text))
    others = [other for other in sentences if lost not in theirs.encode(other, out_type=str)]
    assert others
    for other in others:
        assert ours.encode(other) == [
            left.get(piece, left["<unk>"]) for piece in theirs.encode(other, out_type=str)
        ]


def test_a_converted_tokenizer_survives_saving_and_loading(
    sides: tuple[bytes, bytes], sentences: list[str]
) -> None:
    ours = from_sentencepiece(sides[0], numbered(*sides))
    again = Tokenizer.from_json(ours.to_json())
    assert again.fingerprint == ours.fingerprint
    assert again.encode_batch([*sentences, *ODD]) == ours.encode_batch([*sentences, *ODD])


def test_unsupported_models_are_refused_with_the_reason(sentences: list[str]) -> None:
    model = learned(sentences, 211)
    numbers = numbered(model)

    def refusal(content: bytes, given: dict[str, int] = numbers) -> str:
        with pytest.raises(UserError) as error:
            from_sentencepiece(content, given, place="source.spm")
        return str(error.value)

    junk = (b"no model at all", b"\xff" * 31, b"\xff" * 10**7, b"\n\x05", b"\n\x02\x18\x01" + model)
    for content in (b"", *junk, model[:977]):
        assert refusal(content) == "source.spm: not a SentencePiece model"
    assert "normalisation rules of the SentencePiece model are damaged" in refusal(
        model + b"\x1a\x05\x12\x03bad"
    )
    assert "white-space options" in refusal(learned(sentences, 211, model_type="bpe"))
    assert "white-space options" in refusal(learned(sentences, 211, add_dummy_prefix=False))
    assert "tokenizer.json" in refusal(learned(sentences, 211, user_defined_symbols=["XYZ"]))
    assert 'pieces like "<0x00>"' in refusal(learned(sentences, 503, byte_fallback=True))
    assert "gaps or repeat" in refusal(model, {**numbers, "more": 1999})
    assert "no token <unk>" in refusal(model, {"a": 0})
    assert "no token </s>" in refusal(model, {"<unk>": 0, "<pad>": 1})
