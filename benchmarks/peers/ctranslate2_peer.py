"""CTranslate2 on the same weights, from pieces to pieces."""

import json
from pathlib import Path

import ctranslate2
from worker import Ids, Translate, serve


def load(folder: Path, settings: dict[str, object]) -> Translate:
    """Load what ``multihead export --to ctranslate2`` wrote, in this precision."""
    precision, threads = str(settings["precision"]), int(str(settings["threads"]))
    translator = ctranslate2.Translator(
        str(folder / f"ctranslate2-{'int8' if precision == 'int8' else 'float32'}"),
        device=str(settings["device"]),
        # Its best setting on a CPU: sentences side by side, one thread each.
        inter_threads=int(str(settings.get("beside", threads))),
        intra_threads=1,
        compute_type=precision,
    )
    pieces = json.loads((folder / "pieces.json").read_text(encoding="utf-8"))
    number = {piece: place for place, piece in enumerate(pieces)}

    def translate(ids: Ids, beam: int) -> Ids:
        found = translator.translate_batch(
            [[pieces[one] for one in sentence] for sentence in ids],
            beam_size=beam,
            max_batch_size=int(str(settings["batch"])),
            length_penalty=float(str(settings["length_penalty"])),
        )
        return [[number[piece] for piece in one.hypotheses[0]] for one in found]

    return translate


serve(load)
