"""Inline tags: the share that the alignment puts where a person would, in translations of test_2016_flickr.

    python benchmarks/tag_placement.py RUN --data data/multi30k

benchmarks/tag_placement.tsv has a line of the test set, the place of a phrase in it, a translation that our
recipe multi30k-de-en-fast gave, and the places in it that were accepted by hand, which may be several ("is
holding" or "holding"). The phrase is put between tags, and the run decides where they go in that translation;
so runs that translate otherwise can be compared. Writes results/tag-placement.json.
"""

import csv
import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import tyro

from multihead.run.environment import environment
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.texts.protected_line import line
from multihead.tasks.translation.texts.tag_placement import place_tags
from multihead.tasks.translation.texts.text_layout import PlacedTag, SentenceUnit
from multihead.text.casing import Casing
from multihead.text.lexicon import Lexicon
from multihead.text.markup import Tag

HERE = Path(__file__).parent
RESULT = HERE.parent / "results" / "tag-placement.json"
OPEN, CLOSE = Tag("b", "open"), Tag("b", "close")


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    run: tyro.conf.Positional[Path]
    """Run folder of a German-English translator."""
    data: Path
    """Folder of Multi30k."""


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options, description=__doc__)
    packed = (options.data / "test_2016_flickr.de.gz").read_bytes()
    sources = gzip.decompress(packed).decode("utf-8").split("\n")
    with (HERE / "tag_placement.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    translator = Translator.load(options.run, device="cpu")
    units = [
        SentenceUnit(
            sources[int(row["line"]) - 1],
            (PlacedTag(int(row["start"]), OPEN), PlacedTag(int(row["end"]), CLOSE)),
        )
        for row in rows
    ]
    lines = [line(unit, frozenset(), None, Casing()) for unit in units]
    found = place_tags(lines, [row["translation"] for row in rows], translator, Lexicon.load(options.run))
    right = 0
    for row, unit, markup in zip(rows, units, found, strict=True):
        text = row["translation"]
        accepted = [tuple(map(int, place.split("-"))) for place in row["places"].split()]
        wanted = {text[:a] + "{b}" + text[a:b] + "{/b}" + text[b:] for a, b in accepted}
        shown = str(markup)
        right += shown in wanted
        if shown not in wanted:
            phrase = unit.text[int(row["start"]) : int(row["end"])]
            print(f"{row['line']}: {phrase}\n  {shown}\n  {min(wanted)}")
    share = round(100 * right / len(rows), 1)
    print(f"{right} of {len(rows)} right: {share} %")
    result = {"lines": len(rows), "right": right, "right_percent": share, "environment": environment({})}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
