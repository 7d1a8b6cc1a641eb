"""Translation with NumPy and the native kernels, without PyTorch.

Other searches (random samples, forced prefixes, very wide beams) run in ``Translator``, imported on demand.
"""

import copy
import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from multihead.engines.native.model import NativeModel
from multihead.engines.native.source_attention import SourceAttention
from multihead.engines.native.steps import NativeSteps
from multihead.errors import UserError
from multihead.inspect.maps.records import AttentionRecord
from multihead.recipe.settings import SearchSettings
from multihead.run.search_record import SearchRecord
from multihead.search.outputs import Hypothesis
from multihead.search.phrase_search import search_phrases
from multihead.search.plain import BeamRequest, LengthLimits, check_n_best
from multihead.system import native_library
from multihead.system.imports import is_installed, require
from multihead.system.native_library import Array, Format
from multihead.tasks.translation.lines.batching import SourceLine, pad_lines
from multihead.tasks.translation.lines.directions import Directions
from multihead.tasks.translation.lines.line_translator import LineTranslator

FORMATS: dict[str, Format] = {"fp32": "float32", "bf16": "bfloat16", "int8": "int8"}
"""Formats of matrix products by precision; "auto" is bf16 if the processor multiplies it."""


class NativeTranslator(LineTranslator):
    """Translates with one run whose search is recorded (``run.search_record``).

    Args:
        record: search record of the run.
        precision: precision of matrix products: auto, fp32, bf16 or int8.

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
        self._full: list[Any] = []  # shared by copies, like the next two
        self._attention: list[SourceAttention] = []
        self._loading = threading.Lock()

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
        """Return the ``Translator`` of the same run, loaded on first use."""
        with self._loading:
            if not self._full:
                require("torch", "such a search (samples, prefixes, very wide beams)")
                translator: Any = importlib.import_module(
                    "multihead.tasks.translation.lines.translator"
                ).Translator
                full = translator.load(self.record.folder, device="cpu", precision=self._precision)
                self._full.append(full)
        full = copy.copy(self._full[0])
        full.source_tokenizer, full.target_tokenizer = self.source_tokenizer, self.target_tokenizer
        full.asked = self.asked
        return full

    def prepare(self, settings: SearchSettings, *, begun: bool, phrases: bool) -> None:
        """Load the models if the kernels cannot run such a search; see ``LineTranslator``."""
        native = _is_stepped(settings) if phrases else _plain(settings)
        if (begun or not native) and is_installed("torch"):
            self.with_models()

    def search_lines(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Search with the native kernels or PyTorch; see ``LineTranslator``."""
        forced = any(line.prefix for line in batch)
        phrases = any(line.phrases for line in batch)
        if forced or not (_is_stepped(settings) if phrases else _plain(settings)):
            return self._by_pytorch(batch, settings, numbers)
        source, target = self.source_tokenizer, self.target_tokenizer
        ids_BS, lengths_B = pad_lines(batch, pad_id=source.pad_id, eos_id=source.eos_id)
        capacity = None if self.limit is None else self.limit - 1
        limits = LengthLimits(settings.max_extra, settings.max_length, settings.min_length, capacity)
        longest_B = limits.longest(lengths_B)
        if phrases:
            banned = [target.pad_id, target.bos_id]

            def forbid(scores_RV: Array, _: object) -> None:
                scores_RV[:, banned] = -np.inf

            return search_phrases(
                NativeSteps(self._model, ids_BS, lengths_B),
                forbid,
                [[target.bos_id]] * len(batch),
                [line.phrases for line in batch],
                longest_B.tolist(),
                eos_id=target.eos_id,
                beam_size=settings.beam_size,
                alpha=settings.length_penalty,
                n_best=settings.n_best,
                limits=limits,
                reserved=target.symbols.values(),
            )
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
            settings.no_repeat_ngram,
            settings.min_length,
        )
        hypotheses = self._model.beam(ids_BS, lengths_B, longest_B, request)
        return self._by_pytorch(batch, settings, numbers) if hypotheses is None else hypotheses

    def _by_pytorch(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        full = self.with_models()
        with full.inference():
            hypotheses: list[list[Hypothesis]] = full.search_lines(batch, settings, numbers)
        return hypotheses

    def attend_source(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[AttentionRecord]:
        """Compute the model's attention over the source in NumPy; see ``LineTranslator``."""
        with self._loading:
            if not self._attention:
                self._attention.append(SourceAttention(self.record.model(), self._model))
        source, target = self.source_tokenizer, self.target_tokenizer
        lines = [SourceLine("", list(ids), (), index) for index, ids in enumerate(sources)]
        ids_BS, lengths_B = pad_lines(lines, pad_id=source.pad_id, eos_id=source.eos_id)
        return records(self._attention[0](ids_BS, lengths_B, [[target.bos_id, *ids] for ids in targets]))


def records(weights: Sequence[Sequence[Array]]) -> list[AttentionRecord]:
    """Return a record for each layer.

    Args:
        weights: attention weights by sentence and layer, (H, T, S).
    """
    queries_B, keys_B = (np.array([layers[0].shape[axis] for layers in weights]) for axis in (1, 2))
    records = []
    for layer, of_layer in enumerate(zip(*weights, strict=True)):
        shape = len(of_layer), len(of_layer[0]), queries_B.max(), keys_B.max()
        weights_BHTS = np.zeros(shape, np.float32)
        for row, weights_HTS in zip(weights_BHTS, of_layer, strict=True):
            row[:, : weights_HTS.shape[1], : weights_HTS.shape[2]] = weights_HTS
        name = f"decoder.layers.{layer}.cross_attention.score"
        records.append(AttentionRecord(name, "cross", layer + 1, weights_BHTS, None, queries_B, keys_B))
    return records


def _is_stepped(settings: SearchSettings) -> bool:
    """Return whether the native kernels can run a phrase search, step by step."""
    return not settings.no_repeat_ngram


def _plain(settings: SearchSettings) -> bool:
    """Return whether the native kernels can run a whole search without phrases."""
    # The search in PyTorch refuses several outputs of a greedy search, with the reason.
    return settings.method == "beam" or (settings.method == "greedy" and settings.n_best == 1)


def _format(precision: str) -> Format:
    if precision == "auto":
        precision = "bf16" if native_library.level() in ("amx", "avx512bf16") else "fp32"
    if precision not in FORMATS:
        raise UserError(f"no precision {precision!r}", remedy="Use auto, fp32, bf16 or int8.")
    return FORMATS[precision]
