"""Pairs added to a corpus: back-translated, copied, corrected. Each kind is drawn with a weight of its own.

Back-translated sources begin with the tag <bt> (Caswell et al. 2019), copied ones with <copy> (Currey et al.
2017).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from multihead.data.pairs import Pair, read_pairs
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system import disk
from multihead.text.lines import STDIN, read_lines
from multihead.text.symbols import BACK_TRANSLATED, COPIED

MANIFEST = "synthetic.json"
"""File that makes a folder one of synthetic pairs."""

Kind = Literal["back-translated", "copied", "corrections"]

MOST_SYNTHETIC, MOST_COPIED = 2.0, 1.0
"""Synthetic and copied pairs of an epoch are at most so many times the corpus, whatever their number."""
CORRECTED_SHARE, MOST_OFTEN = 0.1, 16.0
"""Corrections are a tenth of the corpus in an epoch, but none is drawn more often than 16 times."""


@dataclass(frozen=True)
class Added:
    """Pairs of one kind.

    Attributes:
        kind: what they are.
        files: where they are, with the cleaning rules of the corpus.
        tag: the symbol before each source, "" for none.
        weight: how often each pair is drawn for each time that one of the corpus is; 0: ``chosen_weight``.
    """

    kind: Kind
    files: DataSettings
    tag: str
    weight: float

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs, without tags."""
        if self.kind != "copied":
            return read_pairs(self.files, self.files.source, self.files.target)
        lines = (read_lines(name, self.files.encoding) for name in self.files.source)
        return ((line, line) for line in chain.from_iterable(lines))

    def chosen_weight(self, corpus: int, own: int) -> float:
        """Return the weight, by the numbers of pairs in the corpus and of this kind, where none is given."""
        if self.weight:
            return self.weight
        if self.kind == "corrections":
            return min(MOST_OFTEN, max(1.0, CORRECTED_SHARE * corpus / own))
        most = MOST_SYNTHETIC if self.kind == "back-translated" else MOST_COPIED
        return min(1.0, most * corpus / own)


def any_added(data: DataSettings) -> bool:
    """Return whether settings add pairs to the corpus."""
    return bool(data.synthetic or data.copied or data.corrections)


def added_kinds(data: DataSettings) -> list[Added]:
    """Return the kinds of pairs that settings add to the corpus, with full paths.

    Raises:
        UserError: a folder that ``multihead synthesise`` did not complete; standard input.
    """
    folder = Path(data.dir)
    found = []
    if data.synthetic:
        sides = [synthetic_files(folder / name) for name in data.synthetic]
        sources, targets = ([str(side[n]) for side in sides] for n in (0, 1))
        files = _files(data, sources, targets).model_copy(update={"format": "lines", "encoding": "utf-8"})
        found.append(Added("back-translated", files, BACK_TRANSLATED, data.synthetic_weight))
    for kind, names, tag, weight in (
        ("copied", data.copied, COPIED, data.copied_weight),
        ("corrections", data.corrections, "", data.corrections_weight),
    ):
        if STDIN in names:
            remedy = "Save it to a file: it is read several times."
            raise UserError(f"{kind} from standard input", place="data", remedy=remedy)
        if names:
            files = _files(data, [str(folder / name) for name in names], [])
            # Corrections come in a file of their own kind, whatever the corpus is.
            own = {"format": "auto", "source_field": "", "target_field": ""}
            files = files.model_copy(update=own) if kind == "corrections" else files
            found.append(Added("copied" if kind == "copied" else "corrections", files, tag, weight))
    return found


def added_pairs(data: DataSettings) -> Iterator[Pair]:
    """Yield the pairs of all kinds, without tags."""
    return chain.from_iterable(one.pairs() for one in added_kinds(data))


def synthetic_files(folder: Path) -> tuple[Path, Path]:
    """Return the source and the target file of a folder of ``multihead synthesise``.

    Raises:
        UserError: it is none, or not complete.
    """
    try:
        content = json.loads(disk.content(folder / MANIFEST))
        names = content["source"], content["target"]
        if not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise ValueError(names)
    except OSError:
        remedy = "Name a folder that `multihead synthesise` has completed; the same command completes it."
        raise UserError(f"no {MANIFEST} in it", place=str(folder), remedy=remedy) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        remedy = "Make the folder anew with `multihead synthesise`."
        raise UserError("damaged", place=str(folder / MANIFEST), remedy=remedy) from None
    return folder / names[0], folder / names[1]


def _files(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> DataSettings:
    none: dict[str, object] = {"synthetic": (), "copied": (), "corrections": (), "tests": {}}
    own = {
        "dir": "",
        "source": tuple(sources),
        "target": tuple(targets),
        "valid_source": (),
        "valid_target": (),
    }
    return data.model_copy(update=none | own)
