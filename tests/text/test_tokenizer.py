"""Tokenizers: round trips, special tokens, files of other tools."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers, processors

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

KINDS = ["bpe", "unigram", "wordpiece", "chars", "words"]
BYTE_KINDS = ["bpe", "unigram", "chars"]
TEXT = "Zwei Männer, 23 (dreiundzwanzig) Hüte. 안녕하세요 API를 don't 😀 twenty-two"


def trained(kind: str, texts: list[str], size: int = 599, **more: object) -> Tokenizer:
    return train(texts, TokenizerSettings.model_validate({"kind": kind, "vocab_size": size, **more}))


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest, sentences: list[str]) -> Tokenizer:
    return trained(request.param, [*sentences, TEXT])


@pytest.fixture(scope="module", params=BYTE_KINDS)
def byte_tokenizer(request: pytest.FixtureRequest, sentences: list[str]) -> Tokenizer:
    return trained(request.param, sentences)


def spaced(text: str) -> str:
    """NFC with single spaces, in plain Python."""
    return " ".join(unicodedata.normalize("NFC", text.replace("▁", " ")).split(" ")).strip(" ")


anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=53)


@given(text=anything | st.text("a ▁한국😀\u2028\u0085\u0301e</s>0x1\n\t", max_size=31))
@example("</s>")
@example("  <pad> <unk>\u2028 한 한 ▁ <0x41>\n")
@example("각각 e\u0301 ﬁ ２ Å")
@example("\n a \n")
def test_byte_fallback_leaves_nothing_unknown_and_loses_nothing(byte_tokenizer: Tokenizer, text: str) -> None:
    ids = byte_tokenizer.encode(text)
    wanted = " ".join(part for part in spaced(text).split(" ") if part)
    assert byte_tokenizer.decode(ids) == wanted == byte_tokenizer.normalize(text)
    assert byte_tokenizer.unk_id not in ids
    assert not {byte_tokenizer.pad_id, byte_tokenizer.bos_id, byte_tokenizer.eos_id} & set(ids)


def test_known_text_survives_a_round_trip(tokenizer: Tokenizer, sentences: list[str]) -> None:
    unknown = 0
    for sentence in sentences:
        ids = tokenizer.encode(sentence)
        if tokenizer.unk_id in ids:
            unknown += 1
        else:
            assert tokenizer.decode(ids) == sentence
    assert unknown < len(sentences) / 5


@given(text=anything)
def test_special_tokens_never_come_from_text(tokenizer: Tokenizer, text: str) -> None:
    for shown in (text, f"<s>{text}</s> <pad>", "</s>", "<s>", "a <pad> b", "▁</s>"):
        ids = tokenizer.encode(shown)
        assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id} & set(ids)


@given(st.lists(anything, max_size=5))
def test_a_batch_is_encoded_like_its_texts(tokenizer: Tokenizer, texts: list[str]) -> None:
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.decode_batch(tokenizer.encode_batch(texts)) == [
        tokenizer.decode(tokenizer.encode(text)) for text in texts
    ]


@given(text=anything)
@example(TEXT)
@example(" 한 😀a  b")
def test_pieces_have_their_offsets_in_the_text(tokenizer: Tokenizer, text: str) -> None:
    pieces = tokenizer.pieces(text)
    assert [piece.id for piece in pieces] == tokenizer.encode(text)
    assert [piece.text for piece in pieces] == [tokenizer.piece(piece.id) for piece in pieces]
    places = [place for piece in pieces for place in (piece.start, piece.end)]
    assert all(0 <= place <= len(text) for place in places)
    assert all(piece.start <= piece.end for piece in pieces)
    assert not any(text[piece.start : piece.end].startswith(" ") for piece in pieces)
    covered = {place for piece in pieces for place in range(piece.start, piece.end)}
    assert all(text[place] in " ▁" for place in range(len(text)) if place not in covered) or any(
        unicodedata.combining(letter) or not unicodedata.is_normalized("NFC", text) for letter in text
    )


def test_offsets_are_those_of_the_words() -> None:
    tokenizer = trained("words", ["ein kleiner Hund."])
    text = "ein  kleiner Hund."
    assert [text[piece.start : piece.end] for piece in tokenizer.pieces(text)] == [
        "ein",
        "kleiner",
        "Hund",
        ".",
    ]


def test_ids_of_special_tokens_are_0_to_3(tokenizer: Tokenizer) -> None:
    found = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id)
    assert found == (0, 1, 2, 3)
    assert [tokenizer.piece(number) for number in found] == ["<pad>", "<unk>", "<s>", "</s>"]


def test_decoding_skips_special_tokens_and_shows_unknown_words(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("7")
    assert tokenizer.decode([2, *ids, 3, 0, 0]) == "7"
    assert tokenizer.decode([*ids, 1, *ids, 1]) == "7 <unk> 7 <unk>"
    assert tokenizer.decode([*ids, 1, *ids, 1], ["Hans"]) == "7 Hans 7 <unk>"
    assert tokenizer.decode([]) == ""


def test_word_starts_are_marked(tokenizer: Tokenizer) -> None:
    starts = tokenizer.word_starts
    assert starts.shape == (tokenizer.vocab_size,)
    text = "don't 7 감사합니다 (?)"
    ids = tokenizer.encode(text)
    assert sum(starts[ids]) == 4
    assert starts[ids[0]]


def test_a_saved_tokenizer_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (
        loaded.to_json() == tokenizer.to_json() == (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    )
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.encode(TEXT) == tokenizer.encode(TEXT)
    assert loaded.decode(loaded.encode(TEXT)) == tokenizer.decode(tokenizer.encode(TEXT))


def test_the_fingerprint_depends_on_everything(sentences: list[str]) -> None:
    several = [trained("bpe", sentences), trained("bpe", sentences, 601), trained("chars", sentences)]
    settings = TokenizerSettings.model_validate({"vocab_size": 599})
    several.append(train((sentence.lower() for sentence in sentences), settings))
    several.append(train((sentence.lower() for sentence in sentences), settings, lowercase=True))
    assert len({tokenizer.fingerprint for tokenizer in several}) == 5


def test_halves_of_surrogate_pairs_are_refused(tokenizer: Tokenizer) -> None:
    for encode in (tokenizer.encode, tokenizer.pieces, lambda text: tokenizer.encode_batch([text])):
        with pytest.raises(UserError, match="not valid Unicode"):
            encode("a\ud800")


BAD = {
    "empty": "",
    "text": "hello",
    "list": "[]",
    "no model": '{"added_tokens": []}',
    "deep": "[" * 100_003,
    "no kind": '{"added_tokens": [], "model": {}}',
    "bad merge": '{"added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": [["a", "b"]]}}',
    "unknown unknown": '{"added_tokens": [], "model": {"type": "WordLevel", "vocab": {}, "unk_token": "a"}}',
    "panic": """{"added_tokens": [], "model": {"type": "BPE", "continuing_subword_prefix": "###",
        "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}}""",
    "odd token": '{"added_tokens": [7], "model": {"type": "WordLevel", "vocab": {}, "unk_token": "a"}}',
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.json").write_text(BAD[name])
    with pytest.raises(UserError, match=r"t\.json: not a tokenizer .* Give a tokenizer\.json"):
        Tokenizer.load(tmp_path / "t.json")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"t\.json: cannot be read \(No such file"):
        Tokenizer.load(tmp_path / "t.json")
    with pytest.raises(UserError, match="Is a directory"):
        Tokenizer.load(tmp_path)
    (tmp_path / "t.json").write_bytes(b"\xff")
    with pytest.raises(UserError, match="not UTF-8"):
        Tokenizer.load(tmp_path / "t.json")


@pytest.mark.parametrize("damage", ["gap", "repeat", "huge"])
def test_a_vocabulary_with_wrong_ids_is_refused(tmp_path: Path, damage: str) -> None:
    content = json.loads(trained("words", ["ein kleiner Hund"]).to_json())
    content["model"]["vocab"]["▁Hund"] = {"gap": 11, "repeat": 5, "huge": 4_000_000_007}[damage]
    (tmp_path / "t.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"t\.json: the ids have gaps or repeat"):
        Tokenizer.load(tmp_path / "t.json")


def test_a_tokenizer_of_another_tool_is_read(tmp_path: Path) -> None:
    vocabulary = {"[PAD]": 0, "hund": 1, "[CLS]": 2, "##e": 3, "[SEP]": 4, "[UNK]": 5, "ein": 6}
    library = Library(models.WordPiece(vocabulary, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    library.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 4)]
    )
    library.enable_truncation(2)
    library.enable_padding(length=31)
    library.save(str(tmp_path / "t.json"))
    tokenizer = Tokenizer.load(tmp_path / "t.json")
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 5, 2, 4)
    assert tokenizer.encode("eine hunde ein") == [6, 3, 1, 3, 6]
    assert tokenizer.decode([2, 6, 3, 1, 3, 4, 0]) == "eine hunde"
    assert tokenizer.decode([6, 5, 1], ["alter"]) == "ein alter hund"
    assert not {2, 4} & set(tokenizer.encode("ein [SEP] hund [CLS]"))
    assert tokenizer.word_starts.tolist() == [True, True, True, False, True, True, True]


def test_a_special_token_that_is_not_marked_as_one_never_comes_from_text(tmp_path: Path) -> None:
    content = json.loads(trained("bpe", ["ein kleiner Hund"], 300).to_json())
    content["added_tokens"] = [
        {
            "id": 3,
            "content": "</s>",
            "special": False,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
    ]
    (tmp_path / "t.json").write_text(json.dumps(content))
    tokenizer = Tokenizer.load(tmp_path / "t.json")
    assert tokenizer.eos_id == 3
    assert tokenizer.decode(tokenizer.encode("ein </s> Hund")) == "ein </s> Hund"


def test_a_tokenizer_is_made_to_lowercase(tokenizer: Tokenizer, sentences: list[str]) -> None:
    lower = tokenizer.with_lowercasing()
    assert lower.encode_batch(sentences) == tokenizer.encode_batch([text.lower() for text in sentences])
    assert tokenizer.normalize("ÄB") == "ÄB"
    assert lower.normalize("ÄB") == "äb"
    assert lower.with_lowercasing() is lower


def test_a_tokenizer_without_normaliser_is_made_to_lowercase() -> None:
    content = json.loads(trained("words", ["ein kleiner Hund"]).to_json())
    tokenizer = Tokenizer.from_json(json.dumps({**content, "normalizer": None})).with_lowercasing()
    assert tokenizer.decode(tokenizer.encode("EIN KLEINER Kleiner")) == "ein kleiner kleiner"


def test_dropout_set_in_a_file_is_switched_off(sentences: list[str]) -> None:
    tokenizer = trained("bpe", sentences)
    content = json.loads(tokenizer.to_json())
    content["model"]["dropout"] = 0.9
    assert Tokenizer.from_json(json.dumps(content)).encode_batch(sentences) == tokenizer.encode_batch(
        sentences
    )


@pytest.mark.parametrize(
    ("lost", "name"), [("<pad>", "<pad> or"), ("</s>", "</s> or"), ("<unk>", "<unk> or")]
)
def test_a_tokenizer_without_a_special_token_is_refused(tmp_path: Path, lost: str, name: str) -> None:
    content = trained("words", ["ein kleiner Hund"]).to_json().replace(lost, "lost")
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(UserError, match=rf"t\.json: no token {name}.*name no file to have one trained"):
        Tokenizer.load(tmp_path / "t.json")
