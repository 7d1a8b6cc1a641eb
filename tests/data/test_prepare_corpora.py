"""Preparation of several corpora: tags, batches, what is held out, the balanced tokenizer, bad files."""

from pathlib import Path
from typing import Any

import pytest
from corpora import some_pairs

from multihead.data.batches import PairList, collate
from multihead.data.building_corpora import MAX_REPEAT, balance_languages
from multihead.data.directions import Directed, Joined, MixedStream
from multihead.data.plan import batch_by_length
from multihead.data.prepare_corpora import PreparedCorpora, prepare_corpora
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings

CHARS = TokenizerSettings(kind="chars", vocab_size=400)


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """307 lines in three languages, parallel, and the first 211 of them as an own pair of files."""
    pairs = some_pairs(307)
    write(tmp_path / "x.de", [source for source, _ in pairs])
    write(tmp_path / "x.en", [target for _, target in pairs])
    write(tmp_path / "x.fr", [f"fr {target}" for _, target in pairs])
    return tmp_path


def prepared(folder: Path, corpus: dict[str, tuple[str, ...]] | None = None, **data: Any) -> PreparedCorpora:
    given = {"de-en": ("x.de", "x.en"), "de-fr": ("x.de", "x.fr")} if corpus is None else corpus
    settings = DataSettings(dir=str(folder), cache=str(folder / "cache"), corpus=given, **data)
    return prepare_corpora(settings, CHARS)


def test_a_source_is_its_tag_and_its_text(folder: Path) -> None:
    found = prepared(folder, both_directions=True)
    assert [one.name for one in found.directions] == ["de-en", "en-de", "de-fr", "fr-de"]
    plain = found.tokenizer
    for one in found.directions:
        for index in (0, len(one.prepared.valid) - 1):
            source, target = one.prepared.valid_pairs[index]
            tag = plain.symbols[f"<2{one.target}>"]
            assert list(one.prepared.valid.source(index)) == [tag, *plain.encode(source)]
            assert list(one.prepared.valid.target(index)) == plain.encode(target)
            assert one.prepared.source_tokenizer.encode(source) == [tag, *plain.encode(source)]


def test_labels_are_held_out_and_trained_on(folder: Path) -> None:
    write(folder / "x.tag", [f"label {1 + number % 3}" for number in range(307)])
    found = prepared(folder, {"de-en": ("x.de", "x.en"), "de-tag": ("x.de", "x.tag")})
    assert [len(one.train) for one in found.corpora] == [257, 257]
    assert {target for _, target in found.corpora[1].valid_pairs} == {"label 1", "label 2", "label 3"}


def test_corpora_of_one_text_hold_out_the_same_lines(folder: Path) -> None:
    found = prepared(
        folder, {"de-en": ("x.de", "x.en"), "de-fr": ("x.de", "x.fr"), "fr-en": ("x.fr", "x.en")}
    )
    lines = [{source for source, _ in one.valid_pairs} for one in found.corpora]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 50
    assert [len(one.train) for one in found.corpora] == [257, 257, 257]


def test_no_corpus_trains_on_what_another_holds_out(folder: Path) -> None:
    # Disjoint pairs of languages first: what they hold out meets in the last one.
    found = prepared(
        folder, {"de-en": ("x.de", "x.en"), "fr-cs": ("x.fr", "x.fr"), "de-fr": ("x.de", "x.fr")}
    )
    held = {side for one in found.corpora for pair in one.valid_pairs for side in pair}
    decode = found.tokenizer.decode
    for one in found.corpora:
        for index in range(len(one.train)):
            assert decode(one.train.source(index)) not in held
            assert decode(one.train.target(index)) not in held


def test_mixed_batches_are_those_of_the_directions_by_themselves(folder: Path) -> None:
    found = prepared(folder)
    parts = [one.prepared.train for one in found.directions]
    ids: dict[str, Any] = {"pad_id": 0, "bos_id": 2, "eos_id": 3}
    stream = MixedStream(parts, [len(part) for part in parts], seed=3, batch_tokens=701, **ids)
    seen = []
    for indices in stream.plan(0):
        batch = stream.batch(indices, 0)
        places = [(0, i) if i < len(parts[0]) else (1, i - len(parts[0])) for i in indices.tolist()]
        by_hand = collate(
            [parts[part].source(i) for part, i in places],
            [parts[part].target(i) for part, i in places],
            **ids,
        )
        assert batch.source.ids_BS.equal(by_hand.source.ids_BS)
        assert batch.target_BT.equal(by_hand.target_BT)
        seen += places
    assert sorted(seen) == [(part, i) for part in (0, 1) for i in range(len(parts[part]))]


def test_batches_mix_the_directions(folder: Path) -> None:
    found = prepared(folder)
    parts = [one.prepared.train for one in found.directions]
    stream = MixedStream(parts, found.counts(1.0), seed=3, batch_tokens=701, pad_id=0, bos_id=2, eos_id=3)
    tags = [set(stream.batch(indices, 0).source.ids_BS[:, 0].tolist()) for indices in stream.plan(0)]
    assert sum(len(each) == 2 for each in tags) > len(tags) / 2


def test_a_larger_temperature_repeats_the_smaller_corpus(folder: Path) -> None:
    pairs = some_pairs(83, seed=5)
    write(folder / "y.de", [source for source, _ in pairs])
    write(folder / "y.fr", [target for _, target in pairs])
    found = prepared(folder, {"de-en": ("x.de", "x.en"), "de-fr": ("y.de", "y.fr")})
    sizes = [len(one.train) for one in found.corpora]
    assert found.counts(1.0) == sizes
    large, small = found.counts(100.0)
    assert large + small == sum(sizes)
    assert abs(large - small) < 0.03 * sum(sizes)


def test_directed_and_joined_pairs_count_their_tags() -> None:
    pairs = PairList([[5, 6], [7]], [[8], [9, 10, 11]])
    there, back = Directed(pairs, [40, 41]), Directed(pairs, [42], backwards=True)
    assert [list(there.source(i)) for i in (0, 1)] == [[40, 41, 5, 6], [40, 41, 7]]
    assert [list(back.source(i)) for i in (0, 1)] == [[42, 8], [42, 9, 10, 11]]
    assert list(back.target(1)) == [7]
    joined = Joined([there, back])
    assert len(joined) == 4
    assert joined.source_lengths.tolist() == [4, 3, 2, 4] == [len(joined.source(i)) for i in range(4)]
    assert joined.target_lengths.tolist() == [1, 3, 2, 1] == [len(joined.target(i)) for i in range(4)]
    assert len(
        batch_by_length(joined.source_lengths.argsort(), joined.source_lengths, joined.target_lengths, 40)
    )


def test_the_sample_for_the_tokenizer_is_balanced_over_languages() -> None:
    texts = [[f"de {i}" for i in range(1000)], [f"fr {i}" for i in range(150)], ["ko 1", "ko 2", "ko 3"]]
    sample = list(balance_languages(texts, 900))
    counts = [sum(text.startswith(code) for text in sample) for code in ("de", "fr", "ko")]
    assert counts == [300, 300, 3 * MAX_REPEAT]
    assert len({text for text in sample if text.startswith("de")}) == 300


def test_preparation_is_cached_and_weights_are_part_of_its_fingerprint(folder: Path) -> None:
    text = '[[corpus]]\nsource_language = "de"\ntarget_language = "en"\nsource = "x.de"\ntarget = "x.en"\n'
    found = []
    for more in ("", "", "weight = 2\n"):
        (folder / "corpora.toml").write_text(text + more, encoding="utf-8")
        data = DataSettings(dir=str(folder), cache=str(folder / "cache"), corpora="corpora.toml")
        found.append(prepare_corpora(data, CHARS).fingerprint)
    assert found[0] == found[1] != found[2]
    assert found[0][:32] == found[2][:32]
    assert [path.name for path in (folder / "cache").iterdir() if path.is_dir()] == [found[0][:32]]


@pytest.mark.parametrize(
    ("name", "content", "fact"),
    [
        ("x.fr", None, r"x\.fr: no such file"),
        ("x.fr", "", r"x\.fr: the file is empty"),
        ("x.fr", "one\ntwo\n", r"x\.de: 307 lines, but .*x\.fr has 2"),
        ("x.fr", "<2fr> one\n" * 307, r"x\.fr:1: the tag <2fr> occurs in the text"),
        ("x.fr", "one\n" * 306 + "of <2en>\n", r"x\.fr:307: the tag <2en> occurs"),
        ("x.fr", "\n" * 307, "corpus de-fr: no pair is left of the 307 read"),
    ],
)
def test_a_bad_file_of_one_corpus_is_named(folder: Path, name: str, content: str | None, fact: str) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=fact):
        prepared(folder)


def test_a_symbol_that_is_no_tag_of_this_training_is_text(folder: Path) -> None:
    write(folder / "x.fr", [f"<2es> {i} <ph0>" for i in range(307)])
    found = prepared(folder)
    source = found.corpora[1].train.target(0)
    assert not {int(id) for id in source} & set(found.tokenizer.symbols.values())


def test_two_vocabularies_are_refused(folder: Path) -> None:
    data = DataSettings(dir=str(folder), corpus={"de-en": ("x.de", "x.en")})
    with pytest.raises(UserError, match=r"tokenizer\.joint"):
        prepare_corpora(data, CHARS.model_copy(update={"joint": False}))
