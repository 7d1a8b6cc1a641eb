"""Inspection of the attention among the pictures of a set."""

from functools import cache
from pathlib import Path
from typing import Any

from multihead.data.images.opening import SUFFIXES
from multihead.errors import UserError
from multihead.inspect import heatmap
from multihead.inspect.maps import Alignment, Sentence, TokenLabel, align_self, record_sequence
from multihead.inspect.maps.alignment import CAUTION
from multihead.inspect.maps.self_alignment import resolve
from multihead.inspect.page import HtmlPage, SequenceExploration, as_json, make_page
from multihead.inspect.page.flow import flow
from multihead.inspect.page.json_export import attention_as_json, tokens_as_json
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.inspect.page.sequence import sequence_content
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.sets.odd_one_out import OddOneOut


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a folder with the pictures of a set.

    Raises:
        UserError: not a folder; fewer than three pictures; a model without attention.
    """
    found = OddOneOut(
        run.load_model(hardware.pick_device(request.device)),
        run.recipe.data.set_size,
        device=hardware.pick_device(request.device),
    )
    folder = Path(request.input_alone("a model of sets"))
    if not folder.is_dir():
        raise UserError("not a folder", place=str(folder), remedy="Name a folder with the images of a set.")
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
    pixels = found.pixels(files)

    def feed(model: Any) -> object:
        return model(pixels)

    records = tuple(record_sequence(found.model, feed, len(files), keep_inputs=True))
    if not records:
        raise UserError("this model has no attention", place=str(run.folder), remedy="Inspect a set_encoder.")
    labels = tuple(TokenLabel(file.stem, number) for number, file in enumerate(files))
    tokens, asked = Sentence(labels, labels), request.asked
    p_N = found.probabilities(files)
    best = max(range(len(files)), key=p_N.__getitem__)
    outcome = f"{files[best].name} {100 * p_N[best]:.1f} %"

    @cache
    def explored() -> SequenceExploration:
        layer, head = resolve(records, tokens, asked.choice)
        start = {
            "kind": "self",
            "layer": layer,
            "head": head,
            "automatic": False,
            "words": asked.words,
            "specials": asked.specials,
            "combine": asked.choice.combine,
        }
        content = sequence_content(
            records,
            folder.name,
            heading=[("set", folder.name), ("odd one", outcome)],
            tokens=tokens,
            start=start,
            kinds=[BIDIRECTIONAL],
            options=asked,
            flow=flow(found.model, feed, records),
        )
        listed = {
            "run": asked.name,
            "caution": CAUTION,
            "probabilities": {file.name: p for file, p in zip(files, p_N, strict=True)},
            **tokens_as_json(tokens),
            "attention": attention_as_json(records),
        }
        return SequenceExploration(content, listed)

    def page() -> HtmlPage:
        return make_page(explored())

    def numbers() -> str:
        return as_json(explored().listed)

    def alignment() -> Alignment:
        return align_self(records, tokens, choice=asked.choice, words=asked.words, specials=asked.specials)

    def draw(path: str | Path) -> None:
        heatmap(alignment(), path)

    return Inspection(page, numbers, draw, alignment)
