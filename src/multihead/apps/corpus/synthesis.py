"""Back-translation (Sennrich et al. 2016): monolingual target text with its translation as the source."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multihead.apps.corpus.resumable_translation import TranslatedBlocks, summarise
from multihead.data.added import MANIFEST
from multihead.data.hashes import file_sha256, sentence_hash
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.run import Run, files
from multihead.run.names import WEIGHTS
from multihead.system.progress import OnProgress
from multihead.tasks.translation.lines import Translator
from multihead.text.corpus import read_lines
from multihead.text.languages import canonical, is_known
from multihead.text.perturb import permute, perturb

BLOCKS = "blocks"
DROPPED_WORDS, MOST_MOVED = 0.1, 3
"""Noise: fraction of words dropped, and positions by which a word may move (Edunov et al. 2018, sec. 3)."""
DEFAULT_ENDINGS = "source", "target"
CORPORA = "corpora.toml"


def synthesise(
    runs: Sequence[Path],
    mono: Sequence[str],
    folder: Path,
    translator: Translator,
    search: SearchSettings,
    *,
    noise: bool = False,
    languages: tuple[str, str] = ("", ""),
    encoding: str = "utf-8",
    progress: OnProgress,
) -> str:
    """Translate monolingual text into a folder of pairs, with the text as the target.

    Args:
        runs: folders of the translator's runs.
        mono: text files with one sentence per line.
        folder: the output folder; if begun with the same arguments, it is completed.
        translator: translates from the language of the text, in one direction.
        search: search settings.
        noise: drop and move words of the translations.
        languages: codes of the translations and of the text, "" if unknown.
        encoding: the text's encoding.
        progress: called with the progress of each stage.

    Returns:
        A summary in one line.

    Raises:
        UserError: no text; text that cannot be read; a folder begun with other arguments.
    """
    dropped = {"empty": 0, "repeated": 0, "not translated": 0}
    basis = {
        "runs": [weights_hash(run) for run in runs],
        "text": [file_sha256(name) for name in mono],
        "search": search.model_dump(mode="json"),
        "symbols": list(translator.asked.symbols) if translator.asked else [],
        "languages": list(languages),
        "noise": noise,
    }
    total = sum(1 for _ in _lines(mono, encoding, dict(dropped)))
    if not total:
        raise UserError("no line of text", place=", ".join(mono), remedy="Check the file.")
    blocks = TranslatedBlocks(folder / BLOCKS, basis)

    def translate(lines: Sequence[str], first: int) -> list[str]:
        translations = translator.translate(lines, search, first_number=first)
        return [translation.text for translation in translations]

    lines = _lines(mono, encoding, dropped)
    sources, targets = [], []
    for number, (text, output) in enumerate(
        blocks.translated(lines, translate, stage="translating", total=total, progress=progress)
    ):
        if not output.strip():
            dropped["not translated"] += 1
            continue
        sources.append(_noisy(output, number) if noise else output)
        targets.append(text)
    if not sources:
        remedy = "Train the run that translates longer; see multihead evaluate."
        raise UserError("no line got a translation", place=", ".join(map(str, runs)), remedy=remedy)
    names = _names(languages)
    for name, texts in zip(names, (sources, targets), strict=True):
        files.write_text(folder / name, "".join(f"{text}\n" for text in texts))
    if all(languages):
        files.write_text(folder / CORPORA, _corpora(languages, names))
    manifest: dict[str, Any] = {"source": names[0], "target": names[1], "pairs": len(sources)}
    manifest |= {"left out": dropped, **basis}
    files.write_text(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    return summarise(folder, len(sources), dropped)


def weights_hash(run: Path) -> str:
    """Return the SHA-256 of a run's weights; "" before training has saved any."""
    path = run / WEIGHTS
    return file_sha256(path) if path.is_file() else ""


def languages_of(run: Run) -> tuple[str, str]:
    """Return the codes of the languages that a run translates from and to, "" if its recipe names none."""
    data = run.recipe.data
    source, target = (
        canonical(code) if code else "" for code in (data.source_language, data.target_language)
    )
    return (source, target) if is_known(source) and is_known(target) else ("", "")


def _lines(mono: Sequence[str], encoding: str, dropped: dict[str, int]) -> Iterator[str]:
    """Yield distinct non-empty lines; count the others."""
    seen: set[int] = set()
    for name in mono:
        for line in read_lines(name, encoding):
            text = " ".join(line.split())
            key = sentence_hash(text)
            if not text or key in seen:
                dropped["repeated" if text else "empty"] += 1
                continue
            seen.add(key)
            yield text


def _noisy(text: str, number: int) -> str:
    generator = random.Random(f"1 {number} noise")
    words = perturb(text, "omit", DROPPED_WORDS, number=number).split()
    return " ".join(permute(words, MOST_MOVED, generator))


def _names(languages: tuple[str, str]) -> tuple[str, str]:
    apart = all(languages) and languages[0] != languages[1]
    source, target = languages if apart else DEFAULT_ENDINGS
    return f"synthetic.{source}", f"synthetic.{target}"


def _corpora(languages: tuple[str, str], names: tuple[str, str]) -> str:
    """Return the corpora.toml of the folder, for trainings with several corpora."""
    values = {"name": "synthetic", "source_language": languages[0], "target_language": languages[1]}
    values |= {"source": names[0], "target": names[1]}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(["[[corpus]]", *lines, 'tags = ["bt"]', ""])
