"""`multihead data make`: corpora that are made by a rule, without a network."""

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from multihead.data import coreference, joined_texts, listops
from multihead.errors import UserError
from multihead.run import files
from multihead.system import randomness
from multihead.text.tables import read_labelled

FEWEST = 50
"""Expressions: three files need some each."""
MOST = 99_999
"""Scenes: their names have five digits."""
VALID_SHARE = 0.05
"""Share of NSMC's training reviews of which validation documents are made."""
NSMC = "nsmc-documents"
REVIEWS = "ratings_{}.txt.gz"


@dataclass(frozen=True)
class GivenOptions:
    """The options of the command; None if omitted."""

    name: str | None
    to: str | None
    source: str | None
    lengths: str | None
    count: int | None
    seed: int


def make(asked: GivenOptions, console: Console) -> None:
    """Write the corpus that is asked for."""
    if asked.source and asked.name != NSMC:
        raise UserError(f"--from is for {NSMC}", place="multihead data make", remedy="Leave it out.")
    if asked.name == "listops":
        _listops(asked, console)
    elif asked.name == NSMC:
        _documents(asked, console)
    elif asked.name == "shapes":
        _shapes(asked, console)
    elif asked.name == "coreference":
        _coreference(asked, console)
    else:
        fact = "no corpus was given" if asked.name is None else f"no generated corpus {asked.name!r}"
        raise UserError(
            fact, place="multihead data make", remedy=f"Choose coreference, listops, {NSMC} or shapes."
        )


def _range(asked: GivenOptions, usual: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,6})-(\d{1,6})", asked.lengths or usual)
    if match is None or int(match[1]) > int(match[2]):
        raise UserError(f"--lengths {asked.lengths}", remedy="Give the shortest and the longest: 500-2000.")
    return int(match[1]), int(match[2])


def _documents(asked: GivenOptions, console: Console) -> None:
    shortest, longest = _range(asked, "21-41")
    if asked.count is not None or not shortest:
        fact = "--count" if asked.count is not None else f"--lengths {asked.lengths}"
        raise UserError(
            fact, remedy="As many documents are made as the reviews allow, of one review or more."
        )
    source, folder = Path(asked.source or "data/nsmc"), Path(asked.to or f"data/{NSMC}")
    training = _reviews(source / REVIEWS.format("train"))
    cut = int(VALID_SHARE * len(training))
    parts = {
        "valid": training[:cut],
        "train": training[cut:],
        "test": _reviews(source / REVIEWS.format("test")),
    }
    sizes = {}
    for name, reviews in parts.items():
        documents = [*joined_texts.join_texts(reviews, shortest, longest, asked.seed)]
        if not documents:
            fact = f"{len(reviews):,} reviews of the {name} part make no document of {longest}"
            raise UserError(fact, place="--lengths", remedy="Give smaller ones.")
        sizes[name] = documents
    files.make_folder(folder)
    for name, documents in sizes.items():
        files.write_text(folder / f"{name}.tsv", joined_texts.tsv_lines(documents))
    counts = ", ".join(f"{len(documents):,} {name}" for name, documents in sizes.items())
    console.print(f"documents of {shortest} to {longest} reviews, {counts}, in {folder}")


def _reviews(path: Path) -> Sequence[tuple[str, str]]:
    reviews = read_labelled(path, "document", "label", "utf-8")
    return [(review.label, review.text) for review in reviews if review.text.strip()]


def _listops(asked: GivenOptions, console: Console) -> None:
    shortest, longest = _range(asked, "100-400")
    count = 20_000 if asked.count is None else asked.count
    if count < FEWEST:
        raise UserError(f"--count {count}", remedy=f"Give at least {FEWEST}.")
    folder = Path(asked.to or "data/listops")
    examples = [*listops.make(count, shortest, longest, asked.seed)]
    files.make_folder(folder)
    for name, text in listops.files(examples).items():
        files.write_text(folder / name, text)
    lengths = [len(example.tokens) for example in examples]
    size = f"{sum(lengths) / count:.0f} tokens on average, at most {max(lengths)}"
    console.print(f"{count:,} expressions of {size}, in {folder}")


def _coreference(asked: GivenOptions, console: Console) -> None:
    for option, value in (("--lengths", asked.lengths), ("--count", asked.count)):
        if value is not None:
            raise UserError(
                f"{option} has no effect on coreference", place="multihead data make", remedy="Leave it out."
            )
    folder, parts = Path(asked.to or "data/coreference"), coreference.make(asked.seed)
    files.make_folder(folder)
    for name, examples in parts.items():
        files.write_text(folder / f"{name}.en", "".join(f"{example.source}\n" for example in examples))
        files.write_text(folder / f"{name}.fr", "".join(f"{example.target}\n" for example in examples))
    counts = ", ".join(f"{len(examples):,} {name}" for name, examples in parts.items())
    console.print(f"sentences whose adjective decides what it refers to, {counts}, in {folder}")


def _shapes(asked: GivenOptions, console: Console) -> None:
    if asked.lengths is not None:
        raise UserError(
            f"--lengths is for listops and {NSMC}", place="multihead data make", remedy="Leave it out."
        )
    count = 100 if asked.count is None else asked.count
    if not 1 <= count <= MOST:
        raise UserError(f"--count {count}", remedy=f"Give a number from 1 to {MOST:,}.")
    # Imported here: only images need Pillow.
    scenes_module: Any = importlib.import_module("multihead.tasks.detection.scenes")
    coco: Any = importlib.import_module("multihead.tasks.detection.coco_writing")
    folder, stencils = Path(asked.to or "data/shapes"), scenes_module.ShapeStencils()
    maker = scenes_module.SceneMaker(stencils, seed=randomness.derive(asked.seed, "made scenes"))
    files.make_folder(folder)
    for name, content in coco.coco_files((maker.scene(number) for number in range(count)), stencils.names):
        files.write(folder / name, lambda path, content=content: path.write_bytes(content))  # type: ignore[misc]
    scenes = f"{count:,} scenes of 1 to {maker.most} shapes" if count > 1 else "1 scene"
    console.print(f"{scenes}, with boxes in {coco.ANNOTATIONS}, in {folder}")
