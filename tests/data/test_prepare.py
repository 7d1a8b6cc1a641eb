"""Preparation of a parallel corpus: pairs kept, dropped and held out."""

from typing import Any

import pytest
from corpora import VALID, WORDS, Corpus, some_pairs, trained_on

from multihead.data.hashes import contamination
from multihead.data.prepare import prepare
from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.tasks.translation.vocabulary_line import vocabulary_line
from multihead.text.training import train


def test_the_store_has_the_pairs_in_the_order_of_the_files(corpus: Corpus) -> None:
    prepared = corpus.prepare(**VALID)
    assert trained_on(prepared) == some_pairs(211)
    assert prepared.valid_pairs == some_pairs(23, seed=2)
    assert not prepared.held_out
    assert prepared.report.to_dict() == {"read": 211, "kept": 211, "dropped": {}, "first": {}}


def test_unfit_pairs_are_dropped_and_counted_never_truncated(corpus: Corpus) -> None:
    good = some_pairs(5)
    unfit = [("", "x"), ("a " * 40, "b"), ("x", "y" * 500), ("lang " * 20, "long " * 20), good[3]]
    corpus.write([*good[:4], *unfit, good[4]])
    prepared = corpus.prepare(**VALID, max_chars=300, max_length=15, max_length_ratio=4)
    assert trained_on(prepared) == good
    assert prepared.report.to_dict() == {
        "read": 10,
        "kept": 5,
        "dropped": {"empty": 1, "too long": 1, "length ratio": 1, "too many pieces": 1, "duplicate": 1},
        "first": {"empty": 5, "too long": 7, "length ratio": 6, "too many pieces": 8, "duplicate": 9},
    }


def test_duplicates_are_kept_if_asked_for(corpus: Corpus) -> None:
    pair = some_pairs(1)[0]
    corpus.write([pair, pair])
    assert len(corpus.prepare(**VALID, drop_duplicates=False).train) == 2
    assert len(corpus.prepare(**VALID).train) == 1


def test_validation_pairs_are_dropped_only_if_unusable(corpus: Corpus) -> None:
    corpus.write([("kurz", "long " * 14), ("", "x"), ("a b", "c"), ("a b", "c"), ("w " * 20, "y")], "valid")
    prepared = corpus.prepare(**VALID, max_length=15, max_length_ratio=1.5)
    assert prepared.valid_pairs == [("kurz", "long " * 14), ("a b", "c"), ("a b", "c")]
    assert prepared.valid_report is not None
    assert prepared.valid_report.to_dict()["dropped"] == {"empty": 1, "too many pieces": 1}


def test_without_validation_files_pairs_are_held_out(corpus: Corpus) -> None:
    prepared = corpus.prepare()
    assert prepared.held_out
    assert len(prepared.valid_pairs) == len(prepared.valid) == 50
    assert sorted([*trained_on(prepared), *prepared.valid_pairs]) == sorted(some_pairs(211))
    assert corpus.prepare(seed=2).valid_pairs != prepared.valid_pairs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"source": ("train.de.gz",)},
            r"train.de.gz: no such file.*--data.dir DIR.*multihead data get multi30k",
        ),
        ({"source": ("mine.txt",)}, r"mine.txt: no such file.*--data.dir"),
        ({"source": (".",)}, "holds nothing|no two files of two languages"),
        ({"source": ()}, "no training files are named.*--src"),
        ({"source": ("-",), "target": ("-",)}, "standard input is named twice"),
        ({"valid_target": ("valid.tgt",)}, "data.valid_target: .* data.valid_source"),
        ({"valid_source": ("valid.src",)}, r"valid.src: one side only.*Name the target file too"),
        ({"valid_source": ("valid.src",), "valid_target": ("train.tgt",)}, "23 lines, but .* has 211"),
        ({"target": ("valid.tgt",)}, "211 lines, but .* has 23"),
        ({"max_chars": 5}, r"no pair is left of the 211 read \(dropped: 211 too long\)"),
        ({"max_length": 1}, r"no training pair is left .* too many pieces\).*data.max_length"),
    ],
)
def test_bad_input_is_refused(corpus: Corpus, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        corpus.prepare(**changes)
    assert not (corpus.folder / "cache").exists() or not list((corpus.folder / "cache").iterdir())


def test_pairs_too_few_or_too_similar_to_hold_some_out_are_refused(corpus: Corpus) -> None:
    corpus.write(some_pairs(1))
    with pytest.raises(UserError, match=r"too few.*data.valid_source"):
        corpus.prepare()
    corpus.write([(source, f"ja {number % 5}") for number, (source, _) in enumerate(some_pairs(19))])
    with pytest.raises(UserError, match="too similar"):
        corpus.prepare()


def test_validation_files_without_a_usable_pair_are_refused(corpus: Corpus) -> None:
    corpus.write([("", "x")], "valid")
    with pytest.raises(UserError, match="no validation pair has text on both sides"):
        corpus.prepare(**VALID)


def test_test_sentences_that_were_trained_on_are_counted(corpus: Corpus) -> None:
    prepared = corpus.prepare()
    trained = [source for source, _ in trained_on(prepared)]
    held = [source for source, _ in prepared.valid_pairs]
    assert contamination(prepared.folder, [*trained[:7], *held, "something else", ""]) == 7
    assert contamination(prepared.folder, []) == 0


def test_lower_casing_is_done_by_the_tokenizer(corpus: Corpus) -> None:
    prepared = corpus.prepare(**VALID, lowercase=True)
    assert trained_on(prepared) == [(source.lower(), target.lower()) for source, target in some_pairs(211)]
    assert prepared.valid_pairs == some_pairs(23, seed=2)


def test_a_joint_vocabulary_is_one_tokenizer_when_built_and_when_loaded(corpus: Corpus) -> None:
    joint = TokenizerSettings(kind="words")
    for _ in range(2):
        prepared = corpus.prepare(joint, **VALID)
        assert prepared.source_tokenizer is prepared.target_tokenizer
    apart = corpus.prepare(WORDS, **VALID)
    assert apart.source_tokenizer.encode("Hausen") == [apart.source_tokenizer.unk_id]
    assert prepared.source_tokenizer.encode("Hausen") != [prepared.source_tokenizer.unk_id]


def test_given_tokenizers_are_used_and_none_is_trained(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = list(zip(*some_pairs(3), strict=True))
    given = train(sides[0], WORDS), train(sides[1], WORDS)
    monkeypatch.delattr("multihead.data.vocabularies.train")
    prepared = prepare(corpus.settings(**VALID), WORDS, init_tokenizers=given)
    assert list(prepared.train.source(0)) == given[0].encode(some_pairs(1)[0][0])
    assert prepared.target_tokenizer.fingerprint == given[1].fingerprint

    given[0].save(corpus.folder / "a.json")
    given[1].save(corpus.folder / "b.json")
    files = {"file": str(corpus.folder / "a.json"), "target_file": str(corpus.folder / "b.json")}
    named = corpus.prepare(WORDS.model_copy(update=files), **VALID)
    assert named.fingerprint == prepared.fingerprint


def test_a_second_file_for_a_joint_vocabulary_is_refused(corpus: Corpus) -> None:
    with pytest.raises(UserError, match=r"tokenizer.target_file.*tokenizer.joint"):
        corpus.prepare(TokenizerSettings(target_file="x.json"))


def test_a_vocabulary_is_as_large_as_asked_for_at_most(corpus: Corpus) -> None:
    for settings in (TokenizerSettings(vocab_size=8000), TokenizerSettings(kind="unigram", vocab_size=8000)):
        found = corpus.prepare(settings, **VALID).source_tokenizer
        assert 300 < found.vocab_size < 8000
        line = vocabulary_line([found], settings)
        assert line == f"vocabulary: {found.vocab_size} (of at most 8,000) tokens, shared"
        apart = vocabulary_line([found, found], settings.model_copy(update={"target_vocab_size": 301}))
        assert apart.endswith(f" source, {found.vocab_size} target tokens")


def test_progress_is_reported_for_every_stage(corpus: Corpus) -> None:
    reported: list[tuple[str, int, int | None]] = []
    prepare(corpus.settings(), WORDS, progress=lambda *news: reported.append(news))
    stages = list(dict.fromkeys(stage for stage, _, _ in reported))
    assert stages == ["reading", "training the tokenizer", "encoding"]
    assert ("reading", 211, 211) in reported
    assert reported[-1] == ("encoding", 161, 161)
