"""Reserved symbols: their names, escapes, and what tokenizers make of them."""

import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text import symbols
from multihead.text.bpe_dropout import BPEDropout
from multihead.text.lossless import learn
from multihead.text.marked import MarkedTokenizer, reserve
from multihead.text.sentencepiece import to_sentencepiece
from multihead.text.tokenizer import Piece, Tokenizer
from multihead.text.training import train

KINDS = ["bpe", "unigram", "wordpiece", "chars", "words", "spaced"]
BYTE_KINDS = ["bpe", "unigram", "chars"]
CHOSEN = ("standard", "<2de>", "<2zh-hant>", "<domain-legal>")
SYMBOLS = symbols.choose_symbols(CHOSEN)

plain = st.lists(
    st.sampled_from(
        [*SYMBOLS, "<", "\\", "<\\", ">", "ph0>", "/g0>", " ", "  ", "▁", "bo", "Ü", "\u0338", "7", "<PH0>"]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    max_size=11,
).map("".join)
"""Text full of what looks like symbols and their escapes."""
parts = st.lists(plain | st.sampled_from(SYMBOLS).map(lambda symbol: (symbol,)), max_size=7)
"""Plain text and, in tuples, symbols."""


def trained(kind: str, texts: list[str], size: int = 599, **more: object) -> Tokenizer:
    return train(texts, TokenizerSettings.model_validate({"kind": kind, "vocab_size": size, **more}))


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest, sentences: list[str]) -> Tokenizer:
    return trained(request.param, sentences, symbols=CHOSEN)


@pytest.fixture(scope="module", params=BYTE_KINDS)
def byte_tokenizer(request: pytest.FixtureRequest, sentences: list[str]) -> Tokenizer:
    return trained(request.param, sentences, symbols=CHOSEN)


def marked(pieces: list[str | tuple[str]]) -> str:
    return "".join(piece[0] if isinstance(piece, tuple) else symbols.escape(piece) for piece in pieces)


def ids_of_symbols(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    return [tokenizer.piece(id) for id in ids if id in tokenizer.symbols.values()]


@given(text=plain)
@example("<\\\\ph0> <ph0> <<ph0>> </g12> <x3/> <2pt-br> <domain-a-b> <g0/> <PH0> <ph> <ph1234>")
def test_escaping_is_undone_exactly_and_leaves_no_symbol(text: str) -> None:
    escaped = symbols.escape(text)
    assert symbols.unescape(escaped) == text
    assert not any(is_symbol for _, is_symbol in symbols.split(escaped))
    assert "".join(part for part, _ in symbols.split(escaped)) == text
    assert symbols.escape(re.sub("[<>]", "", text)) == re.sub("[<>]", "", text)


@given(pieces=parts)
def test_marked_text_comes_apart_into_what_it_was_made_of(pieces: list[str | tuple[str]]) -> None:
    wanted: list[str | tuple[str]] = []
    for piece in pieces:
        if isinstance(piece, str) and wanted and isinstance(wanted[-1], str):
            wanted[-1] += piece
        elif piece:
            wanted.append(piece)
    assert [(part,) if is_symbol else part for part, is_symbol in symbols.split(marked(pieces))] == wanted


def test_escapes_of_a_hostile_text_take_linear_time() -> None:
    for unit in ("<", "<\\", "\\", "<2aa-a", "<domain-a", "<ph0>"):
        text = "<2" + unit * 200_003
        assert symbols.unescape(symbols.escape(text)) == text


def test_standard_symbols_are_few_and_each_has_one_use() -> None:
    assert len(set(symbols.STANDARD)) == len(symbols.STANDARD) == 41
    assert all(map(symbols.is_symbol, SYMBOLS))
    kinds = [symbols.kind(symbol) for symbol in SYMBOLS]
    counts = {kind: kinds.count(kind) for kind in symbols.SymbolKind}
    assert counts == {
        symbols.SymbolKind.LANGUAGE: 2,
        symbols.SymbolKind.DOMAIN: 1,
        symbols.SymbolKind.ORIGIN: 2,
        symbols.SymbolKind.CONTENT: 39,
    }


@pytest.mark.parametrize(
    ("code", "tag"), [("de", "<2de>"), ("zh_Hant", "<2zh-hant>"), (" NDS ", "<2nds>"), ("pt-BR", "<2pt-br>")]
)
def test_a_language_has_a_tag(code: str, tag: str) -> None:
    assert symbols.language(code) == tag
    assert symbols.is_symbol(tag)


@pytest.mark.parametrize("name", ["", "d", "deutsch!", "de> <ph0", "de fr", "-de", "한국어"])
def test_what_is_no_language_code_has_no_tag(name: str) -> None:
    with pytest.raises(UserError, match=r"cannot be a tag.*language code"):
        symbols.language(name)


def test_domains_have_tags_and_other_names_are_refused() -> None:
    assert symbols.domain("Legal-2") == "<domain-legal-2>"
    with pytest.raises(UserError, match="single hyphens"):
        symbols.domain("a--b")
    with pytest.raises(
        UserError, match=r'tokenizer.symbols: "2de" is not a reserved symbol. Write "standard"'
    ):
        symbols.choose_symbols(["standard", "2de"])


def test_symbols_are_the_last_tokens_and_all_others_what_they_were(
    tokenizer: Tokenizer, sentences: list[str], request: pytest.FixtureRequest
) -> None:
    kind = request.node.callspec.params["tokenizer"]
    without = trained(kind, sentences, 599 - len(SYMBOLS))
    assert without.symbols == {}
    names = [tokenizer.piece(id) for id in range(tokenizer.vocab_size)]
    others = [without.piece(id) for id in range(without.vocab_size)]
    assert names[-len(SYMBOLS) :] == list(SYMBOLS)
    assert list(tokenizer.symbols.items()) == [(name, names.index(name)) for name in SYMBOLS]
    if kind in ("words", "spaced"):
        assert names[4] == "▁"
        assert names[5 : -len(SYMBOLS)] == others[4:-1]
    else:
        assert names[: -len(SYMBOLS)] == others
        assert tokenizer.encode_batch(sentences) == without.encode_batch(sentences)


@pytest.fixture(scope="module", params=["bpe", "unigram", "wordpiece", "chars"])
def twins(request: pytest.FixtureRequest, sentences: list[str]) -> tuple[Tokenizer, Tokenizer]:
    """A tokenizer with symbols, and one of the same other tokens without."""
    without = trained(request.param, sentences, 599 - len(SYMBOLS))
    return trained(request.param, sentences, symbols=CHOSEN), without


@given(text=plain)
@example("  ba <ph0>")
@example(" ")
@example("\u0338 ▁ e\u0301")
def test_plain_text_has_the_ids_that_it_has_without_symbols(
    twins: tuple[Tokenizer, Tokenizer], text: str
) -> None:
    tokenizer, without = twins
    ids = tokenizer.encode(text)
    assert ids == without.encode(text)
    assert tokenizer.decode(ids) == without.decode(ids)
    assert tokenizer.normalize(text) == without.normalize(text)
    assert tokenizer.words(text) == without.words(text)
    assert words_of(tokenizer.pieces(text)) == words_of(without.pieces(text))


def words_of(pieces: list[Piece]) -> list[Piece]:
    """All but lone spaces, of which the first is in the text or is not."""
    return [piece for piece in pieces if piece.text != "▁"]


@given(text=plain)
@example("<ph0>")
@example("<2de> Ein </g0>.<x3/>")
def test_symbols_never_come_from_plain_text(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert ids_of_symbols(tokenizer, ids) == []
    assert MarkedTokenizer(tokenizer).encode(symbols.escape(text)) == ids


@given(pieces=parts)
@example([("<ph0>",), " ", ("<ph1>",)])
@example(["a ", ("<ph0>",), "\u0338b \u0338", ("<g0>",)])
@example(["  ", ("<2de>",), " Ein <ph0>", ("</g0>",), "<\\ph0>", ("<x3/>",), " "])
def test_symbols_are_single_tokens_and_the_text_around_them_comes_back(
    byte_tokenizer: Tokenizer, pieces: list[str | tuple[str]]
) -> None:
    whole = MarkedTokenizer(byte_tokenizer)
    text = marked(pieces)
    ids = whole.encode(text)
    assert ids_of_symbols(byte_tokenizer, ids) == [piece[0] for piece in pieces if isinstance(piece, tuple)]
    assert whole.decode([2, *ids, 3, 0]) == whole.normalize(text) == by_hand(text)


def by_hand(text: str) -> str:
    """NFC outside of symbols with single spaces, in plain Python."""
    known = "|".join(map(re.escape, SYMBOLS))
    cut = re.split(f"({known})", text)
    cut[::2] = [re.sub("[ ▁]+", " ", re.sub(r"<\\(?=\\*[^<>\\ ]*>)", "<", part)) for part in cut[::2]]
    cut[::2] = [unicodedata.normalize("NFC", part) for part in cut[::2]]
    cut[0] = cut[0].removeprefix(" ")
    cut[-1] = cut[-1].removesuffix(" ") if len(cut) > 1 or cut[0] != " " else ""
    cut[::2] = [symbols.escape(part) for part in cut[::2]]
    return "".join(cut)


def test_a_space_before_a_symbol_is_a_token_and_no_space_is_none(sentences: list[str]) -> None:
    whole = MarkedTokenizer(trained("chars", sentences, symbols=CHOSEN))
    shown = [whole.tokenizer.piece(id) for id in whole.encode("ba <ph3>bo<g0> <2de>")]
    assert shown == ["▁", "b", "a", "▁", "<ph3>", "b", "o", "<g0>", "▁", "<2de>"]


def test_whole_words_are_known_between_spaced_symbols(sentences: list[str]) -> None:
    for kind in ("words", "spaced"):
        whole = MarkedTokenizer(trained(kind, sentences, symbols=CHOSEN))
        text = "ta <ph0> la </g0> ta <x1/>"
        ids = whole.encode(text)
        assert whole.tokenizer.unk_id not in ids
        assert whole.decode(ids) == text
        assert whole.decode([*ids[:3], whole.tokenizer.unk_id], ["Hans"]) == "ta <ph0> Hans"


def test_a_symbol_that_is_not_reserved_is_refused(sentences: list[str]) -> None:
    whole = MarkedTokenizer(trained("bpe", sentences, symbols=["<2de>"]))
    with pytest.raises(UserError, match=r"no symbol <2fr>.*tokenizer.symbols.*backslash"):
        whole.encode("<2de> a <2fr>")


def test_a_tokenizer_without_symbols_says_so_and_reads_marked_text_that_has_none(
    sentences: list[str],
) -> None:
    plain = trained("bpe", sentences)
    whole = MarkedTokenizer(plain)
    assert plain.symbols == {}
    text = "  <ph0> API를 <\\ph0> "
    ids = whole.encode(symbols.escape(text))
    assert ids == plain.encode(text)
    assert whole.decode(ids) == whole.normalize(symbols.escape(text)) == symbols.escape(text.strip())
    with pytest.raises(UserError, match="no symbol <ph0>"):
        whole.encode(text)


def test_symbols_survive_a_file_and_lower_case(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    text = "<2zh-hant> API를 <ph0>7 <\\ph0> </g7>"
    assert loaded.symbols == tokenizer.symbols
    assert loaded.to_json() == tokenizer.to_json()
    assert MarkedTokenizer(loaded).encode(text) == MarkedTokenizer(tokenizer).encode(text)
    lower = MarkedTokenizer(tokenizer.with_lowercasing())
    assert lower.encode(text) == MarkedTokenizer(tokenizer).encode(text.lower())
    assert lower.normalize(text) == text.lower()


def test_more_symbols_are_added_after_all_others(tokenizer: Tokenizer) -> None:
    more = reserve(tokenizer, ["<ph0>", "<2fr>"])
    assert more.vocab_size == tokenizer.vocab_size + 1
    assert more.symbols == {**tokenizer.symbols, "<2fr>": tokenizer.vocab_size}
    assert reserve(more, ["<2fr>"]) is more
    ids = MarkedTokenizer(more).encode("<2fr> <ph0>")
    assert ids_of_symbols(more, ids) == ["<2fr>", "<ph0>"]


@pytest.mark.parametrize("kind", KINDS)
def test_symbols_count_towards_the_size_of_the_vocabulary(kind: str, sentences: list[str]) -> None:
    assert trained(kind, sentences, 499, symbols=CHOSEN).vocab_size == (352 if kind == "chars" else 499)
    with pytest.raises(UserError, match=r"too small for \d+ fixed tokens") as caught:
        trained(kind, sentences, 40, symbols=CHOSEN)
    found = re.search(r"Set it to at least (\d+)\.", str(caught.value))
    assert found
    assert trained(kind, sentences, int(found[1]), symbols=CHOSEN).vocab_size == int(found[1])


def test_tokenizers_of_another_make_reserve_nothing() -> None:
    letters = learn(["ein kleiner Hund"], "chars", 99, 1)
    with pytest.raises(UserError, match="only a tokenizer trained by multihead can reserve symbols"):
        reserve(letters, ["<ph0>"])
    content = json.loads(letters.to_json())
    number = letters.vocab_size
    content["model"]["vocab"]["<ph0>"] = number
    token = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"].append({"id": number, "content": "<ph0>", "special": True, **token})
    assert Tokenizer.from_json(json.dumps(content)).symbols == {}


def test_dropout_never_spells_a_symbol(sentences: list[str]) -> None:
    tokenizer = trained("bpe", sentences, symbols=CHOSEN)
    whole = MarkedTokenizer(tokenizer)
    text = f"<2de> {sentences[3]} <ph0>{sentences[5]}<g0> {sentences[7]}</g0>."
    ids = whole.encode(text)
    cuts = set()
    for key in range(31):
        cut = BPEDropout(tokenizer, 0.5, 7).reencode([np.array(ids)], [(key,)])[0].tolist()
        assert whole.decode(cut) == text
        assert ids_of_symbols(tokenizer, cut) == ["<2de>", "<ph0>", "<g0>", "</g0>"]
        cuts.add(tuple(cut))
    assert len(cuts) > 23


@pytest.mark.parametrize("kind", ["bpe", "chars"])
def test_sentencepiece_reads_marked_text_as_we_do(kind: str, sentences: list[str]) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="the optional sentencepiece is not installed")
    whole = MarkedTokenizer(trained(kind, sentences, symbols=CHOSEN))
    other = sentencepiece.SentencePieceProcessor(model_proto=to_sentencepiece(whole.tokenizer))
    texts = [f"<2de> {one} <ph0>{two}</g0> <x0/><ph15>." for one, two in pairwise(sentences)]
    for text in [*texts, *sentences, "<ph0>", "a<2zh-hant>\u0338", "<PH0> <2fr>", ""]:
        text = whole.normalize(text) if "<2fr>" not in text else text
        ids = whole.encode(text.replace("<2fr>", "<\\2fr>"))
        assert other.encode(text) == ids
        assert other.decode(ids) == text
    for name, id in whole.tokenizer.symbols.items():
        assert other.id_to_piece(id) == name
        assert not other.is_control(id)
        assert not other.is_unknown(id)


def test_the_tokenizers_library_reads_our_file_as_we_do(tokenizer: Tokenizer, sentences: list[str]) -> None:
    library = Library.from_str(tokenizer.to_json())
    whole = MarkedTokenizer(tokenizer)
    texts = [f"{one} <ph0>7 </g0>. {one}<x0/>" for one in sentences[:101]]
    for text in [*texts, *sentences, " <2de> Ein", "  <ph0>", "  7 <ph0>  ", "", " "]:
        assert library.encode(text, add_special_tokens=False).ids == whole.encode(text)
