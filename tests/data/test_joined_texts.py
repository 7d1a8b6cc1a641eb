"""Short labelled texts joined to long documents."""

import gzip
from collections import Counter
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead.data.joined_texts import MAJORITY, join_texts
from multihead.errors import UserError

LABELS = ("bad", "good", "middling")


def texts(count: int) -> list[tuple[str, str]]:
    """Texts that name their label and themselves."""
    return [(LABELS[n % 3], f"{LABELS[n % 3]}{n}") for n in range(count)]


def test_a_documents_label_is_that_of_most_of_its_texts() -> None:
    documents = [*join_texts(texts(3001), 5, 13, 7)]
    assert len(documents) > 200
    shares = []
    for label, text in documents:
        words = text.split()
        assert 5 <= len(words) <= 13
        counts = Counter(word.rstrip("0123456789") for word in words)
        assert counts[label] >= MAJORITY * len(words) - 1e-9
        shares.append(counts[label] / len(words))
    assert min(shares) < 0.75
    assert max(shares) == 1.0


def test_every_text_is_used_once_and_every_label_equally() -> None:
    documents = [*join_texts(texts(3001), 5, 13, 7)]
    used = Counter(word for _, text in documents for word in text.split())
    assert max(used.values()) == 1
    labels = Counter(label for label, _ in documents)
    assert max(labels.values()) - min(labels.values()) <= 1


def test_the_seed_decides() -> None:
    one, same, other = ([*join_texts(texts(301), 3, 7, seed)] for seed in (5, 5, 6))
    assert one == same
    assert one != other


def test_texts_of_one_label_are_refused() -> None:
    with pytest.raises(UserError, match="1 label, but texts of two are needed"):
        next(join_texts([("good", "a"), ("good", "b")], 1, 2, 1))


def nsmc(folder: Path) -> Path:
    """A folder in NSMC's form, with single quotes and an empty review."""
    for part, count in (("train", 400), ("test", 100)):
        reviews = ["" if n == 7 else f'review {n} said "so' for n in range(count)]
        rows = "".join(f"{n}\t{review}\t{n % 2}\n" for n, review in enumerate(reviews))
        with gzip.open(folder / f"ratings_{part}.txt.gz", "wt", encoding="utf-8") as file:
            file.write("id\tdocument\tlabel\n" + rows)
    return folder


def test_the_command_writes_three_parts_that_share_no_review(tmp_path: Path, capfdbinary: Captured) -> None:
    folder = tmp_path / "made"
    out, _ = run(
        capfdbinary,
        "data",
        "make",
        "nsmc-documents",
        "--from",
        nsmc(tmp_path),
        "--to",
        folder,
        "--lengths",
        "3-5",
    )
    assert "documents of 3 to 5 reviews" in out
    seen: set[str] = set()
    for part in ("train", "valid", "test"):
        header, *rows = (folder / f"{part}.tsv").read_text(encoding="utf-8").splitlines()
        assert header == "label\tdocument"
        assert rows
        if part != "test":  # numbered anew there
            numbers = {word for row in rows for word in row.split() if word.isdecimal()} - {"0", "1"}
            assert not numbers & seen
            seen |= numbers


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--lengths", "900-1000"], "make no document of 1000"),
        (["--lengths", "0-3"], "--lengths 0-3"),
        (["--count", "9"], "As many documents are made as the reviews allow"),
    ],
)
def test_impossible_documents_are_refused_and_leave_nothing(
    given: list[str], told: str, tmp_path: Path, capfdbinary: Captured
) -> None:
    folder = tmp_path / "made"
    command = ["data", "make", "nsmc-documents", "--from", str(nsmc(tmp_path)), "--to", str(folder)]
    assert told in fail(capfdbinary, *command, *given)
    assert not folder.exists()
