"""Several corpora of one training: read from corpora.toml or ``data.corpus``, checked before training."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from multihead.data.added import any_added
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.recipe.settings.base import Settings
from multihead.system import disk
from multihead.system.safe_parsing import parse_toml
from multihead.text import tagged
from multihead.text.languages import canonical, is_known
from multihead.text.symbols import COPIED

TABLE = "corpus"
FILES = ("source", "target", "valid_source", "valid_target")


class CorpusEntry(Settings):
    """A ``[[corpus]]`` of corpora.toml. Its files are relative to the folder of corpora.toml."""

    source_language: str
    """Language of the source files, e.g. "de"."""
    target_language: str
    """Language of the target files."""
    source: tuple[str, ...]
    """Training file(s), source side, or TSV, CSV or JSONL files with both sides."""
    target: tuple[str, ...] = ()
    """Training file(s), target side."""
    name: str = ""
    """Name in messages; default: its languages, as "de-en"."""
    valid_source: tuple[str, ...] = ()
    """Validation file(s), source side. Default: hold out part of the training data."""
    valid_target: tuple[str, ...] = ()
    """Validation file(s), target side."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets: name = ["source file", "target file"]."""
    weight: float = 1.0
    """Factor on how often its pairs are drawn; 0: only validated and evaluated."""
    tags: tuple[str, ...] = ()
    """Tags after the language tag: a domain as "legal", "bt" (back-translated), "copy"."""
    both_directions: bool | None = None
    """Train from target to source too; default: data.both_directions."""


@dataclass(frozen=True)
class Corpus:
    """One of several parallel corpora of a training.

    Attributes:
        name: its unique name.
        source_language: code in canonical form.
        target_language: code in canonical form.
        files: where its files are, with the cleaning rules of the recipe.
        weight: factor on how often its pairs are drawn.
        tags: symbols after the language tag.
        both_directions: whether training also translates from target to source.
    """

    name: str
    source_language: str
    target_language: str
    files: DataSettings
    weight: float = 1.0
    tags: tuple[str, ...] = ()
    both_directions: bool = False

    @property
    def directions(self) -> list[tuple[str, str]]:
        """(source, target) languages, one or both ways."""
        there = self.source_language, self.target_language
        return [there, there[::-1]] if self.both_directions else [there]


def several(data: DataSettings) -> bool:
    """Return whether settings name corpora with languages, rather than one corpus."""
    return bool(data.corpora or data.corpus)


def place(data: DataSettings) -> str:
    """Return where the corpora are named."""
    return str(Path(data.dir) / data.corpora) if data.corpora else "data.corpus"


def corpora(data: DataSettings) -> list[Corpus]:
    """Return the corpora that settings name.

    Raises:
        UserError: a corpora.toml that cannot be read, a wrong key or value in it, no corpus, a name twice, a
            language code that no standard lists, one language on both sides, weights that sum to nothing.
    """
    if data.source or data.target or data.valid_source or data.valid_target:
        fact = "both several corpora and the files of one are named"
        remedy = "Name the files in the corpora too, with their languages."
        raise UserError(fact, place="data", remedy=remedy)
    if any_added(data):
        remedy = 'Name them in corpora.toml: tags = ["bt"], tags = ["copy"], or a weight for corrections.'
        raise UserError("pairs to add are named beside several corpora", place="data", remedy=remedy)
    if data.corpora and data.corpus:
        raise UserError("named beside data.corpora", place="data.corpus", remedy="Leave one of them out.")
    where = place(data)
    corpus_list = [
        _corpus(number, where, data, entry, folder)
        for number, (entry, folder) in enumerate(_entries(data), start=1)
    ]
    if not corpus_list:
        raise UserError("no corpus in it", place=where, remedy=f"Write a [[{TABLE}]] for each.")
    names = [corpus.name for corpus in corpus_list]
    if repeated := sorted(name for name, times in Counter(names).items() if times > 1):
        remedy = 'Give each corpus a name of its own: name = "...".'
        raise UserError(f'two corpora are called "{repeated[0]}"', place=where, remedy=remedy)
    if not any(corpus.weight for corpus in corpus_list):
        remedy = "Give at least one corpus a positive weight."
        raise UserError("the weights sum to nothing", place=where, remedy=remedy)
    return corpus_list


def _entries(data: DataSettings) -> Iterator[tuple[CorpusEntry, Path]]:
    """Yield the entries, each with the folder of its files."""
    if not data.corpora:
        for languages, files in data.corpus.items():
            source, target = _two(languages)
            if not 1 <= len(files) <= 2:
                remedy = f'Write {languages} = ["source file", "target file"].'
                raise UserError(f"{len(files)} files", place=f"data.corpus.{languages}", remedy=remedy)
            sides = {"source": files[:1], "target": files[1:]}
            yield CorpusEntry(source_language=source, target_language=target, **sides), Path(data.dir)
        return
    path = Path(place(data))
    for number, table in enumerate(_tables(path), start=1):
        yield _entry(table, f"{path}: corpus {number}"), path.parent


def _two(languages: str) -> tuple[str, str]:
    """Return the two codes of "de-en" or, if a code has a hyphen itself, of "zh-Hant:en"."""
    parts = languages.split(":") if ":" in languages else languages.split("-")
    if len(parts) != 2 or not all(parts):
        remedy = 'Write "de-en"; with a colon if a code has a hyphen itself: "zh-Hant:en".'
        raise UserError(f'"{languages}" are not two languages', place="data.corpus", remedy=remedy)
    return parts[0], parts[1]


def _tables(path: Path) -> list[Any]:
    try:
        content = parse_toml(disk.content(path).decode("utf-8"))
    except OSError as error:
        fact = f"cannot be read ({error.strerror or error})"
        raise UserError(fact, place=str(path), remedy="Check the name.") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, TooLargeError
        fact = f"not TOML ({error})"
        raise UserError(fact, place=str(path), remedy="Correct the line.") from None
    tables = content.pop(TABLE, [])
    if content:
        fact = f'unknown key "{next(iter(content))}"'
        raise UserError(fact, place=str(path), remedy=f"The file consists of [[{TABLE}]] tables.")
    if not isinstance(tables, list):
        raise UserError(f"[{TABLE}] is one table", place=str(path), remedy=f"Write [[{TABLE}]].")
    return tables


def _entry(table: Any, where: str) -> CorpusEntry:
    if not isinstance(table, dict):
        raise UserError("not a table", place=where, remedy=f"Write [[{TABLE}]], and its keys below.")
    lists = [key for key, field in CorpusEntry.model_fields.items() if field.annotation == tuple[str, ...]]
    values = {key: _list(value) if key in lists else value for key, value in table.items()}
    if isinstance(values.get("tests"), dict):
        values["tests"] = {name: _list(files) for name, files in values["tests"].items()}
    if isinstance(values.get("weight"), int) and not isinstance(values["weight"], bool):
        values["weight"] = float(values["weight"])
    try:
        return CorpusEntry.model_validate(values, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        remedy = f"Keys of a corpus: {', '.join(CorpusEntry.model_fields)}."
        if first["type"] == "missing":
            raise UserError(f'"{key}" is missing', place=where, remedy=remedy) from None
        if first["type"] == "extra_forbidden":
            raise UserError(f'unknown key "{key}"', place=where, remedy=remedy) from None
        fact = f"{key} = {json.dumps(first['input'], default=str)[:60]}"
        remedy = f"{first['msg'].removeprefix('Input ').capitalize()}."
        raise UserError(fact, place=where, remedy=remedy) from None


def _list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _corpus(number: int, where: str, data: DataSettings, entry: CorpusEntry, folder: Path) -> Corpus:
    here = f"{where}: corpus {number}" + (f' "{entry.name}"' if entry.name else "")
    languages = [_language(code, here) for code in (entry.source_language, entry.target_language)]
    tags = tuple(dict.fromkeys(tagged.tag(name, place=here) for name in entry.tags))
    if languages[0] == languages[1] and COPIED not in tags:
        fact = f'source and target have the same language, "{languages[0]}"'
        raise UserError(fact, place=here, remedy="Correct one of the codes.")
    if not (math.isfinite(entry.weight) and entry.weight >= 0):
        raise UserError(f"weight = {entry.weight}", place=here, remedy="Write 0 or a positive number.")
    if not entry.source:
        raise UserError("no source file is named", place=here, remedy='Write source = "FILE".')
    files = {key: tuple(str(folder / name) for name in getattr(entry, key)) for key in FILES}
    tests = {name: tuple(str(folder / file) for file in files) for name, files in entry.tests.items()}
    updates = {"dir": "", "corpora": "", "corpus": {}, "tests": tests, **files}
    updates |= {"source_language": languages[0], "target_language": languages[1]}
    both = data.both_directions if entry.both_directions is None else entry.both_directions
    name = entry.name or "-".join(languages)
    return Corpus(name, languages[0], languages[1], data.model_copy(update=updates), entry.weight, tags, both)


def _language(code: str, here: str) -> str:
    language = canonical(code, place=here)
    if not is_known(language):
        remedy = 'Correct it; a language without a code may take one from "qaa" to "qtz".'
        raise UserError(f'"{code}" is a language code that no standard lists', place=here, remedy=remedy)
    return language


def directions(corpus_list: Sequence[Corpus]) -> list[tuple[str, str]]:
    """Return the (source, target) languages of all corpora, each once, in order."""
    trained = (pair for corpus in corpus_list if corpus.weight for pair in corpus.directions)
    return list(dict.fromkeys(trained))


def symbols(corpus_list: Sequence[Corpus]) -> list[str]:
    """Return the tags that a vocabulary must reserve: first the target languages', then the corpora's."""
    pairs = [pair for corpus in corpus_list for pair in corpus.directions]
    languages = [tagged.tags_of(target)[0] for _, target in pairs]
    return list(dict.fromkeys([*languages, *(tag for corpus in corpus_list for tag in corpus.tags)]))


def basis(corpus_list: Sequence[Corpus]) -> list[Mapping[str, Any]]:
    """Return everything that mixing depends on, as JSON."""
    return [
        {"directions": corpus.directions, "weight": corpus.weight, "tags": corpus.tags}
        for corpus in corpus_list
    ]
