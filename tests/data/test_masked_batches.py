"""Single texts for masking, next-sentence prediction and classification: preparation and batches."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from multihead.data.batches import PairList
from multihead.data.stream import StreamPosition
from multihead.data.text_batches import TextsStream, as_input, collate_labelled, lengths
from multihead.errors import UserError
from multihead.tasks.classification import settings as classification
from multihead.tasks.masked import settings as masked
from multihead.tasks.masked.mask_tokens import encode_masked, mask_id
from multihead.tasks.masked.masking import MaskedBatches
from multihead.tasks.masked.texts import PreparedTexts, prepare_texts

LINES = [
    f"the {name} number {n} is {'good' if n % 3 else 'bad'}" for n in range(97) for name in ("cat", "dog")
]
WORDS = masked.TokenizerSettings(vocab_size=130)


def silent(stage: str, done: int, total: int | None) -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    rows = ["id\ttext\tlabel", *(f'{i}\t"{line}\t{i % 2}' for i, line in enumerate(LINES)), "x\t\t0"]
    with gzip.open(tmp_path / "table.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(rows))
    return tmp_path


def unlabelled(folder: Path, **given: object) -> PreparedTexts:
    settings = {
        "dir": str(folder),
        "files": ("lines.txt",),
        "cache": str(folder / "c"),
        "valid_fraction": 0.1,
        "seed": 5,
    }
    data = masked.DataSettings.model_validate(settings | given)
    return prepare_texts(data, WORDS, progress=silent)


def classes(folder: Path, **given: object) -> PreparedTexts:
    settings = {"dir": str(folder), "files": ("table.tsv.gz",), "cache": str(folder / "c"), "seed": 5}
    data = classification.DataSettings.model_validate(settings | given)
    return prepare_texts(data, WORDS, progress=silent)


def test_every_text_is_in_one_split_and_equal_texts_in_the_same(folder: Path) -> None:
    texts = unlabelled(folder, files=("lines.txt", "table.tsv.gz"), text_field="text", valid_fraction=0.2)
    assert len(texts.train) + len(texts.valid) == 2 * len(LINES)
    assert texts.empty == 1
    assert texts.places == (f"{folder}/table.tsv.gz:{len(LINES) + 2}",)
    twice = unlabelled(folder, files=("lines.txt", "lines.txt"), valid_fraction=0.2)
    sides = [{bytes(side.source(i)) for i in range(len(side))} for side in (twice.train, twice.valid)]
    assert sides[0] & sides[1] == set()
    assert all(sides)


def test_quotes_have_no_meaning_and_labels_are_read(folder: Path) -> None:
    texts = classes(folder)
    assert texts.labels == ("0", "1")
    found = {texts.tokenizer.decode(texts.train.source(i)) for i in range(len(texts.train))}
    assert found <= {f'"{line}' for line in LINES}
    batch = collate_labelled(texts.train, np.array([0, 3]), texts.tokenizer, 64)
    assert batch.labels_B.tolist() == [int(texts.train.target(i)[0]) for i in (0, 3)]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (["id\ttext\tlabel", "1\tgood"], r"bad\.tsv:2: 2 columns, but the header has 3"),
        (
            ["id\ttext\tclass", "1\tgood\t1"],
            r'bad\.tsv:1: no column "label" in the header.*--data\.label_field',
        ),
        ([], r"bad\.tsv: the file is empty"),
        (["id\ttext\tlabel", "1\tthe cat\t0", "2\tthe dog\t"], r"bad\.tsv:3: no label"),
    ],
)
def test_bad_tables_are_refused_with_file_and_line(folder: Path, rows: list[str], error: str) -> None:
    (folder / "bad.tsv").write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(UserError, match=error):
        classes(folder, files=("bad.tsv",))


def test_a_class_that_training_does_not_have_is_refused(folder: Path) -> None:
    (folder / "other.tsv").write_text("id\ttext\tlabel\n1\tthe cat\t0\n2\tthe dog\t7\n", encoding="utf-8")
    with pytest.raises(UserError, match=r'other\.tsv:3: unknown class "7".*0, 1'):
        classes(folder, valid_files=("other.tsv",))


def test_texts_are_prepared_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = unlabelled(folder)
    monkeypatch.setattr("multihead.tasks.masked.texts._build", lambda *_: pytest.fail("built again"))
    assert unlabelled(folder).fingerprint == first.fingerprint


# --- inputs and masks ---------------------------------------------------------------------------------


def test_an_input_has_special_tokens_segments_and_padding(folder: Path) -> None:
    t = unlabelled(folder).tokenizer
    read = as_input([(np.array([7, 8]), np.array([9])), (np.array([10, 11, 12]), None)], t)
    cls, sep, pad = t.bos_id, t.eos_id, t.pad_id
    assert read.ids_BN.tolist() == [
        [cls, 7, 8, sep, 9, sep, pad, pad],
        [cls, 10, 11, 12, sep, pad, pad, pad],
    ]
    assert read.segments_BN.tolist() == [[0, 0, 0, 0, 1, 1, 0, 0], [0] * 8]
    assert read.lengths_B.tolist() == [6, 5]


def masked_batches(
    texts: PreparedTexts, *, next_sentence: bool = True, max_length: int = 41
) -> MaskedBatches:
    return MaskedBatches(
        texts.train,
        texts.tokenizer,
        max_length=max_length,
        masked=0.15,
        next_sentence=next_sentence,
        seed=3,
    )


def test_of_the_masked_tokens_80_per_cent_become_mask_10_random_and_10_stay(folder: Path) -> None:
    texts = unlabelled(folder)
    make = masked_batches(texts, next_sentence=False)
    t, rows = texts.tokenizer, np.arange(len(texts.train))
    total = pieces = 0
    shown = {"mask": 0, "same": 0, "other": 0}
    for epoch in range(23):
        batch = make(rows, epoch)
        ids, answers = batch.input.ids_BN.flatten()[batch.places_M], batch.answers_M
        mask = torch.tensor(mask_id(t))
        shown["mask"] += int(ids.eq(mask).sum())
        shown["same"] += int(ids.eq(answers).sum())
        shown["other"] += int((ids.ne(mask) & ids.ne(answers)).sum())
        total += len(ids)
        pieces += batch.tokens - 2 * len(rows)
        specials = torch.tensor([*t.special_ids, mask_id(t)])
        assert not torch.isin(answers, specials).any()
        assert not torch.isin(ids[ids != mask_id(t)], specials).any()
    assert total / pieces == pytest.approx(0.15, abs=0.015)
    assert shown["mask"] / total == pytest.approx(0.8, abs=0.02)
    # A random token is sometimes the right one.
    assert shown["same"] / total == pytest.approx(0.1, abs=0.015)
    assert shown["other"] / total == pytest.approx(0.1, abs=0.015)


def test_other_tokens_stay_and_an_epoch_always_has_the_same_masks(folder: Path) -> None:
    texts = unlabelled(folder)
    make, rows = masked_batches(texts, next_sentence=False), np.array([5, 3, 11])
    batch = make(rows, 0)
    again, other = make(rows, 0), make(rows, 1)
    assert torch.equal(batch.input.ids_BN, again.input.ids_BN)
    assert not torch.equal(batch.input.ids_BN, other.input.ids_BN)
    filled = batch.input.ids_BN.flatten()
    filled[batch.places_M] = batch.answers_M
    expected = as_input([(texts.train.source(i), None) for i in rows], texts.tokenizer).ids_BN
    assert torch.equal(filled.view_as(expected), expected)
    assert batch.pairs == 0


def test_half_of_the_second_segments_follow_the_first(folder: Path) -> None:
    texts = unlabelled(folder)
    make, rows = masked_batches(texts), np.arange(len(texts.train))
    own = 0
    for epoch in range(7):
        batch = make(rows, epoch)
        ids = batch.input.ids_BN.flatten().clone()
        ids[batch.places_M] = batch.answers_M
        for row, follows in zip(
            ids.view_as(batch.input.ids_BN).tolist(), batch.follows_B.tolist(), strict=True
        ):
            inside = [i for i in row if i not in texts.tokenizer.special_ids]
            if follows == 1:
                own += 1
                assert texts.tokenizer.decode(inside) in LINES
    assert batch.pairs == len(rows)
    assert own / (7 * len(rows)) == pytest.approx(0.5, abs=0.06)


def test_long_texts_are_truncated(folder: Path) -> None:
    texts = unlabelled(folder)
    for next_sentence in (True, False):
        batch = masked_batches(texts, next_sentence=next_sentence, max_length=9)(np.arange(31), 0)
        assert batch.input.lengths_B.max() == 9


def test_lengths_are_cut_before_they_are_narrowed() -> None:
    store: Any = PairList([range(n) for n in (70_000, 65_536, 5)], [[]] * 3)
    found = lengths(store, 41)
    assert found.tolist() == [38, 38, 5]
    assert found.dtype.itemsize == 2
    assert lengths(store, 100_000).tolist() == [70_000, 65_536, 5]


def test_a_stream_of_texts_resumes_from_a_position(folder: Path) -> None:
    texts = unlabelled(folder)
    used = lengths(texts.train, 41)

    def stream(position: StreamPosition) -> TextsStream:
        return TextsStream(used, masked_batches(texts), batch_tokens=211, seed=2, position=position)

    whole = [batch for batch, _ in zip(stream(StreamPosition()), range(40), strict=False)]
    assert whole[17][1].epoch + whole[39][1].epoch > 0
    rest = [batch for batch, _ in zip(stream(whole[17][1]), range(22), strict=False)]
    for (one, place), (other, same) in zip(whole[18:], rest, strict=True):
        assert place == same
        assert torch.equal(one.input.ids_BN, other.input.ids_BN)  # type: ignore[attr-defined]


def test_a_text_without_a_mask_is_refused(folder: Path) -> None:
    t = unlabelled(folder).tokenizer
    assert encode_masked(t, "the [MASK] is").count(mask_id(t) or -1) == 1
    assert t.encode("[MASK]").count(mask_id(t) or -1) == 0
    with pytest.raises(UserError, match=r"no \[MASK\] in the text"):
        encode_masked(t, "the cat")


def test_a_random_second_segment_is_no_longer_than_the_true_one(tmp_path: Path) -> None:
    """Batches are sized by the lengths of the texts; a longer segment could take many times the memory."""
    long, short = " ".join(LINES[:9]), LINES[:181]
    (tmp_path / "lines.txt").write_text("\n".join([*short, *[long] * 11]), encoding="utf-8")
    texts = unlabelled(tmp_path)
    make, rows = masked_batches(texts, max_length=512), np.arange(len(texts.train))
    own = lengths(texts.train, 512) + 3
    for epoch in range(7):
        batch = make(rows, epoch)
        assert (batch.follows_B == 0).any()
        assert (batch.input.lengths_B.numpy() <= own).all()
