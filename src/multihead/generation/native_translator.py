"""Translation by the native kernels alone: NumPy and the native library, without PyTorch.

What the kernels do not search as a whole (sampling, forced prefixes, required phrases, n-gram constraints),
and what needs the model's attention, is done by ``generation.translator``, which is imported for it.
"""

import copy
import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from multihead import native_library
from multihead.engines.native.model import NativeModel
from multihead.errors import UserError
from multihead.generation.batching import SourceLine, padded
from multihead.generation.carrying import Line
from multihead.generation.directions import Directions
from multihead.generation.line_translator import LineTranslator
from multihead.generation.tag_alignment import Weights
from multihead.native_library import Format
from multihead.run.search_record import SearchRecord
from multihead.search.outputs import Hypothesis
from multihead.search.plain import BeamRequest, Limits, check_n_best
from multihead.settings import SearchSettings
from multihead.text.lexicon import Lexicon

FORMATS: dict[str, Format] = {"fp32": "float32", "bf16": "bfloat16", "int8": "int8"}
"""Formats of matrix products by precision; "auto" is bf16 where the processor multiplies it."""


class NativeTranslator(LineTranslator):
    """Translates with one run whose search is recorded (``run.search_record``).

    Args:
        record: of the run.
        precision: of matrix products: auto, fp32, bf16 or int8.

    Raises:
        UserError: the run folder is damaged; no such precision.
    """

    def __init__(self, record: SearchRecord, precision: str = "auto") -> None:
        source, target = record.tokenizers()
        super().__init__(
            source,
            target,
            settings=record.search,
            directions=Directions.of(record.directions, source, str(record.folder)),
            limit=record.limit,
        )
        self.record, self._precision = record, precision
        self._model = NativeModel(record.model(), _format(precision))
        self._full: list[Any] = []  # shared by copies

    @classmethod
    def load(cls, folder: str | Path, precision: str = "auto") -> Self:
        """Load a run.

        Raises:
            UserError: its search is not recorded, or the folder is damaged.
        """
        record = SearchRecord.read(folder)
        if record is None or not native_library.level():
            raise UserError(
                "the native kernels alone cannot search with this run: no valid search.json, or no kernels",
                place=str(folder),
                remedy="`multihead doctor RUN` gives the reason, and writes the file.",
            )
        return cls(record, precision)

    def with_models(self) -> Any:
        """Return the ``Translator`` of the same run, which is loaded the first time."""
        if not self._full:
            if find_spec("torch") is None:
                raise UserError("this needs PyTorch, which is not installed", remedy="pip install torch")
            translator: Any = importlib.import_module("multihead.generation.translator").Translator
            self._full.append(translator.load(self.record.folder, device="cpu", precision=self._precision))
        full = copy.copy(self._full[0])
        full.source_tokenizer, full.target_tokenizer = self.source_tokenizer, self.target_tokenizer
        full.asked = self.asked
        return full

    def hypotheses(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Search by the native kernels as a whole, or by PyTorch; see ``LineTranslator``."""
        if not _plain(batch, settings):
            return self._by_steps(batch, settings, numbers)
        source, target = self.source_tokenizer, self.target_tokenizer
        ids_BS, lengths_B = padded(batch, pad_id=source.pad_id, eos_id=source.eos_id)
        capacity = None if self.limit is None else self.limit - 1
        longest_B = Limits(settings.max_extra, settings.max_length, capacity=capacity).longest(lengths_B)
        beam = settings.method == "beam"
        if beam:
            check_n_best(settings.n_best, settings.beam_size)
        request = BeamRequest(
            target.bos_id,
            target.eos_id,
            tuple(sorted({target.pad_id, target.bos_id})),
            settings.beam_size if beam else 1,
            settings.length_penalty,
            settings.n_best if beam else 1,
            settings.stop if beam else "first",
        )
        found = self._model.beam(ids_BS, lengths_B, longest_B, request)
        return self._by_steps(batch, settings, numbers) if found is None else found

    def _by_steps(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        full = self.with_models()
        with full.inference():
            found: list[list[Hypothesis]] = full.hypotheses(batch, settings, numbers)
        return found

    def replacements(self, pairs: Sequence[tuple[str, Sequence[int]]]) -> list[list[str]]:
        """Return the words that unknown tokens attend to; see ``LineTranslator``."""
        found: list[list[str]] = self.with_models().replacements(pairs)
        return found

    def word_weights(
        self, lines: Sequence[Line], texts: Sequence[str], lexicon: Lexicon
    ) -> list[Weights | None]:
        """Return the model's attention; see ``LineTranslator``."""
        found: list[Weights | None] = self.with_models().word_weights(lines, texts, lexicon)
        return found


def _plain(batch: Sequence[SourceLine], settings: SearchSettings) -> bool:
    """Return True for a search that the native kernels run as a whole."""
    unusual = bool(settings.min_length or settings.no_repeat_ngram) or settings.method == "sample"
    unusual = unusual or (settings.method == "beam" and settings.coverage_penalty > 0)
    # Refused by the search in PyTorch, with the reason.
    unusual = unusual or (settings.method != "beam" and settings.n_best > 1)
    return not unusual and not any(line.prefix or line.phrases for line in batch)


def _format(precision: str) -> Format:
    if precision == "auto":
        precision = "bf16" if native_library.level() in ("amx", "avx512bf16") else "fp32"
    if precision not in FORMATS:
        raise UserError(f"no precision {precision!r}", remedy="Use auto, fp32, bf16 or int8.")
    return FORMATS[precision]
