"""`multihead data make`: corpora that are made by a rule, without a network."""

import re
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from multihead import randomness
from multihead.data import listops
from multihead.data.pictures.coco_writing import ANNOTATIONS, coco_files
from multihead.data.pictures.scenes import SceneMaker, ShapeStencils
from multihead.errors import UserError
from multihead.run import files

FEWEST = 50
"""Expressions: three files need some each."""
MOST = 99_999
"""Scenes: their names have five digits."""


@dataclass(frozen=True)
class Asked:
    """The options of the command; None where one is not given."""

    name: str | None
    to: str | None
    lengths: str | None
    count: int | None
    seed: int


def make(asked: Asked, console: Console) -> None:
    """Write the corpus that is asked for."""
    if asked.name == "listops":
        _listops(asked, console)
    elif asked.name == "shapes":
        _shapes(asked, console)
    else:
        fact = "no corpus was given" if asked.name is None else f"no generated corpus {asked.name!r}"
        raise UserError(fact, place="multihead data make", remedy="Choose listops or shapes.")


def _listops(asked: Asked, console: Console) -> None:
    match = re.fullmatch(r"(\d{1,6})-(\d{1,6})", asked.lengths or "100-400")
    if match is None or int(match[1]) > int(match[2]):
        raise UserError(f"--lengths {asked.lengths}", remedy="Give the shortest and the longest: 500-2000.")
    count = 20_000 if asked.count is None else asked.count
    if count < FEWEST:
        raise UserError(f"--count {count}", remedy=f"Give at least {FEWEST}.")
    folder = Path(asked.to or "data/listops")
    examples = [*listops.make(count, int(match[1]), int(match[2]), asked.seed)]
    files.make_folder(folder)
    for name, text in listops.files(examples).items():
        files.write_text(folder / name, text)
    longest, mean = max(len(one.tokens) for one in examples), sum(len(one.tokens) for one in examples) / count
    console.print(f"{count:,} expressions of {mean:.0f} tokens on average, at most {longest}, in {folder}")


def _shapes(asked: Asked, console: Console) -> None:
    if asked.lengths is not None:
        raise UserError("--lengths is for listops", place="multihead data make", remedy="Leave it out.")
    count = 100 if asked.count is None else asked.count
    if not 1 <= count <= MOST:
        raise UserError(f"--count {count}", remedy=f"Give a number from 1 to {MOST:,}.")
    folder, stencils = Path(asked.to or "data/shapes"), ShapeStencils()
    maker = SceneMaker(stencils, seed=randomness.derive(asked.seed, "made scenes"))
    files.make_folder(folder)
    for name, content in coco_files((maker.scene(number) for number in range(count)), stencils.names):
        files.write(folder / name, lambda path, content=content: path.write_bytes(content))  # type: ignore[misc]
    scenes = f"{count:,} scenes of 1 to {maker.most} shapes" if count > 1 else "1 scene"
    console.print(f"{scenes}, with boxes in {ANNOTATIONS}, in {folder}")
