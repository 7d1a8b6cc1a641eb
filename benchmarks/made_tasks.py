"""Corpora of two kinds that are no translation: inflected forms, and misspelt lines to correct.

    python benchmarks/made_tasks.py --data data --out made

writes made/inflection.{train,test}.tsv (lemma and tags, form: 1,000 and 500 pairs of UD English EWT) and
made/spelling.{train,test}.tsv (a caption of Multi30k with typing errors, the caption: 5,000 and 500 pairs).
`multihead train --src made/inflection.train.tsv --minutes 10 --run runs/inflection`, and then
`multihead evaluate runs/inflection --src made/inflection.test.tsv`, show what zero settings make of them.
"""

import argparse
import gzip
import random
from collections.abc import Iterator
from pathlib import Path

Pair = tuple[str, str]
INFLECTED = ("VERB", "NOUN", "ADJ", "AUX")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ERRORS = 0.2
"""Share of the words that get a typing error."""


def main() -> None:
    """Write the four files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, default=Path("made"))
    settings = parser.parse_args()
    settings.out.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    forms = sorted(set(_read_inflections(settings.data / "ud-english-ewt")))
    chance.shuffle(forms)
    captions = _lines(settings.data / "multi30k" / "train.en.gz")[:5500]
    spelling = [(_misspelt(line, chance), line) for line in captions]
    for name, pairs, least in (("inflection", forms, 1000), ("spelling", spelling, 5000)):
        for part, chosen in (("train", pairs[:least]), ("test", pairs[least : least + 500])):
            text = "".join(f"{source}\t{target}\n" for source, target in chosen)
            (settings.out / f"{name}.{part}.tsv").write_text(text, encoding="utf-8")


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def _read_inflections(folder: Path) -> Iterator[Pair]:
    """Yield lemma and tags, and form, of the words of a treebank that are inflected."""
    for line in _lines(folder / "train.conll.gz"):
        columns = line.split("\t")
        if len(columns) == 6 and columns[3] in INFLECTED and columns[5] != "_":
            form, lemma = columns[1].lower(), columns[2].lower()
            if form.isalpha() and lemma.isalpha():
                yield " ".join([lemma, columns[3], *columns[5].split("|")]), form


def _misspelt(line: str, chance: random.Random) -> str:
    """Return a line with letters left out, doubled, exchanged or wrong in some of its words."""
    words = line.split(" ")
    for number, word in enumerate(words):
        if len(word) > 2 and chance.random() < ERRORS:
            at = chance.randrange(len(word) - 1)
            words[number] = chance.choice(
                (
                    word[:at] + word[at + 1 :],
                    word[:at] + word[at] + word[at:],
                    word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                    word[:at] + chance.choice(LETTERS) + word[at + 1 :],
                )
            )
    return " ".join(words)


if __name__ == "__main__":
    main()
