"""Split texts into sentences with multihead and its peers; print the part that each finds exactly.

    pip install icu4py sentencex pysbd
    python benchmarks/peers/segmentation.py [--data DIR]

The texts are those of tests/text/sentences, and with --data (the corpora beside the repository) 600 groups of
five sentences of each corpus below, drawn with a fixed seed and joined by spaces. A peer that is not there
is left out.
"""

import argparse
import gzip
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from multihead.text.segmentation import split

SENTENCES = Path(__file__).parents[2] / "tests" / "text" / "sentences"
LANGUAGES = ("en", "de", "fr", "ko", "ja", "zh")
END = "‖"
WHOLE = re.compile(r"[.!?…]['\"”“)»]*$")

Split = Callable[[str], list[str]]


def ours(language: str) -> Split:
    """Return multihead's sentences."""
    return lambda text: list(split(text, language).sentences)


def icu(language: str) -> Split:
    """Return those of ICU's break iterator."""
    breakers: Any = import_module("icu4py.breakers")
    return lambda text: [text[a:b] for a, b in breakers.SentenceBreaker(text, language).segments()]


def icu_suppressed(language: str) -> Split:
    """Return those of ICU's break iterator with CLDR's list of abbreviations."""
    return icu(f"{language}-u-ss-standard")


def sentencex(language: str) -> Split:
    """Return those of Wikimedia's library."""
    library: Any = import_module("sentencex")
    return lambda text: list(library.segment(language, text))


def pysbd(language: str) -> Split:
    """Return those of the Pragmatic Segmenter's port."""
    library: Any = import_module("pysbd")
    segmenter = library.Segmenter(language=language, clean=False)
    return lambda text: list(segmenter.segment(text))


PEERS = {
    "multihead": ours,
    "icu": icu,
    "icu, suppressions": icu_suppressed,
    "sentencex": sentencex,
    "pysbd": pysbd,
}


def places(text: str, sentences: list[str]) -> set[tuple[int, int]]:
    """Return start and end of each sentence in the text."""
    found, end = set(), 0
    for sentence in filter(None, map(str.strip, sentences)):
        start = text.index(sentence, end)
        end = start + len(sentence)
        found.add((start, end))
    return found


def recall(cut: Split, texts: list[list[str]]) -> float:
    """Return the part of the sentences that are found exactly."""
    right = total = 0
    for parts in texts:
        text = "".join(parts)
        wanted = places(text, parts)
        right += len(wanted & places(text, cut(text)))
        total += len(wanted)
    return right / total


def by_hand(name: str) -> list[list[str]]:
    """Return the texts of a file of the tests."""
    lines = (SENTENCES / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    return [line.split(END) for line in lines if line]


def joined(lines: list[str]) -> list[list[str]]:
    """Return 600 texts of five sentences each."""
    whole = [line.strip() for line in lines if WHOLE.search(line.strip())]
    random.Random(5).shuffle(whole)
    groups = (whole[start : start + 5] for start in range(0, 3000, 5))
    return [[f"{sentence} " for sentence in group] for group in groups if group]


def corpora(data: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, language and lines of corpora whose lines are sentences."""

    def read(name: str) -> list[str]:
        with gzip.open(data / name, "rt", encoding="utf-8", newline="\n") as lines:
            return lines.read().split("\n")

    yield "NLLB-Seed", "en", read("nllb-seed-romance/train.eng.gz")
    pairs = [line.split("\t") for line in read("tatoeba-de-en/deu-eng.tsv.gz") if "\t" in line]
    yield "Tatoeba", "en", [pair[0] for pair in pairs]
    yield "Tatoeba", "de", [pair[1] for pair in pairs]
    yield "Multi30k", "fr", read("multi30k/train.fr.gz")
    with zipfile.ZipFile(data / "ko-en" / "tatoeba" / "kor-eng.zip") as archive:
        name = next(name for name in archive.namelist() if name.startswith("kor"))
        lines = archive.read(name).decode().split("\n")
    yield "Tatoeba", "ko", [line.split("\t")[1] for line in lines if "\t" in line]


def report(title: str, language: str, texts: list[list[str]]) -> None:
    """Print a line of the table."""
    cells = []
    for name, make in PEERS.items():
        try:
            cells.append(f"{name} {100 * recall(make(language), texts):.1f}")
        except ImportError:
            continue
        except ValueError:  # a language that the peer does not know
            cells.append(f"{name} -")
    print(f"{title} ({sum(map(len, texts))} sentences): {', '.join(cells)}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the corpora")
    given = parser.parse_args()
    for suffix in ("", ".held"):
        for language in LANGUAGES:
            report(f"{language}{suffix}", language, by_hand(f"{language}{suffix}"))
    if given.data:
        for name, language, lines in corpora(given.data):
            report(f"{name} {language}", language, joined(lines))


if __name__ == "__main__":
    main()
