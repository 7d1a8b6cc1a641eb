"""Share of the names, identifiers and numbers of a text that its translation keeps.

    python benchmarks/kept_words.py --train train.en --src test.en --ref test.it --out translated.it

Only words that stand in a source and in its reference alike count: those that a translator should copy. Each
kind is split into words that the training's sources have and words that they lack. Repeated: those that
occur so in several lines, and how many of them the translation keeps in every line.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from unicodedata import category

import regex

AROUND = "".join(sign for sign in map(chr, range(0x3100)) if category(sign)[0] in "CPSZ")
"""Signs around a word."""
INNER = regex.compile(r"[\p{L}\p{N}][._\-/+@:~][\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{L}\p{N}|\p{N}\p{L}")
"""Mark of an identifier: a sign inside, an inner capital, letters beside digits."""
KINDS = ("identifiers", "names", "numbers")


def words(text: str) -> Iterator[str]:
    """Yield the words of a text without the signs around them; an apostrophe ends a word: ``l'UTF-8``."""
    for part in regex.split(r"[\s'’]+", text):
        if word := part.strip(AROUND):
            yield word


def kind(word: str) -> str:
    """Return which of ``KINDS`` a word is; "" for other words."""
    if not regex.search(r"\p{L}", word):
        return "numbers"
    if INNER.search(word):
        return "identifiers"
    return "names" if word[0].isupper() and len(word) > 1 else ""


def kept(
    train: Iterable[str], sources: Sequence[str], references: Sequence[str], outputs: Sequence[str]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Count kept words: (kept, all) of each kind, by "seen" and "unseen"."""
    known = {word for line in train for word in words(line)}
    counts = {name: {"seen": [0, 0], "unseen": [0, 0]} for name in KINDS}
    for source, reference, output in zip(sources, references, outputs, strict=True):
        shared = Counter(words(source)) & Counter(words(reference))
        there = Counter(words(output))
        for word, times in shared.items():
            if name := kind(word):
                cell = counts[name]["seen" if word in known else "unseen"]
                cell[0] += min(times, there[word])
                cell[1] += times
    return {
        name: {seen: (cell[0], cell[1]) for seen, cell in cells.items()} for name, cells in counts.items()
    }


def kept_throughout(
    sources: Sequence[str], references: Sequence[str], outputs: Sequence[str]
) -> tuple[int, int]:
    """Count the words that several pairs share: (kept in every line, all)."""
    lines: dict[str, list[bool]] = defaultdict(list)
    for source, reference, output in zip(sources, references, outputs, strict=True):
        there = set(words(output))
        for word in set(words(source)) & set(words(reference)):
            if kind(word):
                lines[word].append(word in there)
    repeated = [kept_in for kept_in in lines.values() if len(kept_in) > 1]
    return sum(map(all, repeated)), len(repeated)


def main() -> None:
    """Print the shares as a table, and write them to a file if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option in ("--train", "--src", "--ref", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    options = parser.parse_args()
    lines = (
        path.read_text(encoding="utf-8").splitlines()
        for path in (options.train, options.src, options.ref, options.out)
    )
    train, *texts = map(list, lines)
    counts = kept(train, *texts)
    throughout, repeated = kept_throughout(*texts)
    for name, cells in counts.items():
        print(
            name.ljust(12),
            *(f"{seen} {cell[0] / max(1, cell[1]):6.1%} of {cell[1]:5,}" for seen, cell in cells.items()),
            sep="  ",
        )
    print(f"repeated     in every line {throughout / max(1, repeated):6.1%} of {repeated:5,}")
    if options.json:
        counts = {**counts, "repeated": {"in every line": (throughout, repeated)}}
        options.json.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
