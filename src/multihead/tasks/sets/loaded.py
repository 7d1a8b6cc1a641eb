"""Models of sets of images as ``multihead.load`` returns them, and the inspection of their attention."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from multihead.data.images.opening import find_images
from multihead.errors import UserError
from multihead.inspect.heatmap import heatmap
from multihead.inspect.maps import Alignment, Sentence, TokenLabel, align_self, record_sequence
from multihead.inspect.maps.alignment import CAUTION
from multihead.inspect.page import SequenceExploration, as_json, make_page
from multihead.inspect.page.flow import flow
from multihead.inspect.page.json_export import attention_as_json, tokens_as_json
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.inspect.page.sequence import sequence_content, start
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.sets.odd_one_out import OddOneOut


class LoadedOddOneOut(ListsMethods, OddOneOut):
    """Model of sets of images."""

    def odd(self, images: Sequence[str | Path]) -> int:
        """Return the place of the odd one among image files, from 0.

        Raises:
            UserError: fewer than three images; a file is missing, damaged or not an image.
        """
        p_N = self.probabilities(images)
        return max(range(len(p_N)), key=p_N.__getitem__)


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a folder with the images of a set.

    Raises:
        UserError: not a folder; fewer than three images; a model without attention.
    """
    device = hardware.pick_device(request.device)
    finder = OddOneOut(run.load_model(device), run.recipe.data.set_size, device=device)
    folder = Path(request.input_alone("a model of sets"))
    if not folder.is_dir():
        raise UserError("not a folder", place=str(folder), remedy="Name a folder with the images of a set.")
    files, _ = find_images(folder)
    pixels = finder.pixels(files)

    def feed(model: Any) -> object:
        return model(pixels)

    records = tuple(record_sequence(finder.model, feed, len(files), keep_inputs=True))
    if not records:
        raise UserError("this model has no attention", place=str(run.folder), remedy="Inspect a set_encoder.")
    labels = tuple(TokenLabel(file.stem, number) for number, file in enumerate(files))
    tokens, options = Sentence(labels, labels), request.asked
    p_N = finder.probabilities(files)
    best = max(range(len(files)), key=p_N.__getitem__)
    outcome = f"{files[best].name} {100 * p_N[best]:.1f} %"

    @cache
    def exploration() -> SequenceExploration:
        content = sequence_content(
            records,
            folder.name,
            heading=[("set", folder.name), ("odd one", outcome)],
            tokens=tokens,
            start=start(records, tokens, options),
            kinds=[BIDIRECTIONAL],
            options=options,
            flow=flow(finder.model, feed, records),
        )
        listed = {
            "run": options.name,
            "caution": CAUTION,
            "probabilities": {file.name: p for file, p in zip(files, p_N, strict=True)},
            **tokens_as_json(tokens),
            "attention": attention_as_json(records),
        }
        return SequenceExploration(content, listed)

    def alignment() -> Alignment:
        return align_self(
            records, tokens, choice=options.choice, words=options.words, specials=options.specials
        )

    return Inspection(
        lambda: make_page(exploration()),
        lambda: as_json(exploration().listed),
        lambda path: heatmap(alignment(), path),
        alignment,
    )
