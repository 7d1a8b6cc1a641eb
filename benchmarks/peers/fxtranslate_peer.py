"""Firefox's translation engine on the same weights: greedy, from text to text, one thread."""

import json
from pathlib import Path

import fxtranslate
from worker import Ids, Texts, serve


def load(folder: Path, settings: dict[str, object]) -> "Texts":
    """Load what ``multihead export --to firefox`` wrote; the engine has no other setting."""
    spm = (folder / "firefox" / "vocab.spm").read_bytes()
    name = "model.intgemm8.bin" if settings["precision"] == "int8" else "model.bin"
    translator = fxtranslate.Translator((folder / "firefox" / name).read_bytes(), spm, spm)
    pieces = json.loads((folder / "pieces.json").read_text(encoding="utf-8"))

    def translate(ids: Ids, beam: int) -> list[str]:
        texts = ["".join(pieces[one] for one in sentence).replace("▁", " ").strip() for sentence in ids]
        return [translator.translate(text) for text in texts]

    return translate


serve(load)
