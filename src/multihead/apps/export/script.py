"""The script in an export's folder, which translates without multihead."""

import json
import shutil
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch

from multihead.apps.export import comparison
from multihead.run import Run
from multihead.text.tokenizer import UNKNOWN, Tokenizer

SCRIPT = Path(__file__).with_name("translate_script.py")
"""Copied into each export as translate.py."""
WORD_MARKS = ("▁", "Ġ")
"""Marks of a word's beginning in vocabularies."""


def add_script(
    run: Run, folder: Path, tokenizers: Sequence[Tokenizer], limit: int | None
) -> comparison.Foreign:
    """Write translate.py and its settings to an export; return its translator."""
    names = sorted(file.name for file in folder.glob("tokenizer*.json"))
    settings = {"source": names[0], "target": names[-1], **search_settings(run, tokenizers[1], limit)}
    (folder / "translate.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    threads = {"inter_threads": 1, "intra_threads": torch.get_num_threads()}
    foreign: comparison.Foreign = install_script(SCRIPT, folder)(folder, device="cpu", **threads)
    return foreign


def install_script(script: Path, folder: Path) -> Any:
    """Copy a script into an export as translate.py; return its class ``Translator``."""
    shutil.copyfile(script, folder / "translate.py")
    spec = spec_from_file_location(script.stem, script)
    assert spec
    assert spec.loader
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Translator


def search_settings(run: Run, target: Tokenizer, limit: int | None) -> dict[str, Any]:
    """Return the settings of a run's search that a script needs; pieces have the tokenizer's names."""
    search = run.recipe.search
    pieces = [target.piece(number) for number in range(target.vocab_size)]
    mark = next((mark for mark in WORD_MARKS if any(piece.startswith(mark) for piece in pieces)), "")
    return {
        "beam_size": search.beam_size if search.method == "beam" else 1,
        "length_penalty": search.length_penalty,
        "max_extra": search.max_extra,
        "max_length": search.max_length,
        "capacity": None if limit is None else limit - 1,
        "unknown": {target.piece(target.unk_id): mark + UNKNOWN},
        "banned": [target.piece(target.pad_id), target.piece(target.bos_id)],
    }
