"""Evaluation of translators on test sets: BLEU, chrF, perplexity, speed."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from multihead.data.corpora import corpora, place, several
from multihead.data.hashes import contamination
from multihead.data.pairs import read_pairs
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, SearchSettings
from multihead.run import Run
from multihead.scores import (
    Comparison,
    Score,
    bleu,
    character_error_rate,
    chrf,
    exact_match,
    paired_bootstrap,
    perplexity,
    word_error_rate,
)
from multihead.system.disk import cache_root
from multihead.system.notebook import DisplaysAsTable
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.texts.calibration import calibration_error, raw_scores
from multihead.tasks.translation.texts.carrying import translate_lines
from multihead.tasks.translation.texts.confidence import Calibration
from multihead.text.languages import closest
from multihead.text.perturb import Perturbation, perturb
from multihead.text.published import Tokenise


class Way(NamedTuple):
    """The direction of a test set for a multilingual translator, see ``Translator.toward``."""

    source: str | None
    target: str | None
    tags: tuple[str, ...] = ()
    zero_shot: bool = False

    def fits(self, source: str | None, target: str | None) -> bool:
        """Return whether the direction is between these languages; None matches any."""
        pairs = ((source, self.source), (target, self.target))
        return all(code is None or closest(code, [language or ""]) is not None for code, language in pairs)


@dataclass(frozen=True)
class TestSet:
    """Named source sentences and their references, with a direction for multilingual translators."""

    name: str
    sources: list[str]
    references: list[str]
    way: Way | None = None


@dataclass(frozen=True, repr=False)
class Evaluation(DisplaysAsTable):
    """Scores on a test set.

    Attributes:
        test_set: the test set.
        outputs: the translations, one per source.
        bleu: sacreBLEU, cased, 13a.
        bleu_lowercase: sacreBLEU, case-insensitive, 13a.
        bleu_tokenised_lowercase: BLEU of lower-cased text after a given tokenisation, with no further
            tokenisation; None without a tokenisation.
        chrf: chrF2, cased.
        exact: share of outputs equal to their reference.
        wer: word error rate over white-space tokens, in percent.
        cer: character error rate, in percent.
        perplexity: perplexity per target token, end symbols included.
        perplexity_character: perplexity per reference character, line ends included; comparable between
            vocabularies.
        sentences_per_second: translation speed.
        contaminated: number of test sources that are in the training data; None: unknown, because the
            prepared training data is not on this machine.
        notes: lines that were cut or not translated, with the reason.
        raw_scores: (mean token log-probability, sentence chrF from 0 to 1) of each translation.
        confidence_error: expected calibration error of the run's confidence; None: not calibrated.
    """

    test_set: TestSet
    outputs: list[str]
    bleu: Score
    bleu_lowercase: Score
    bleu_tokenised_lowercase: Score | None
    chrf: Score
    exact: float
    wer: float
    cer: float
    perplexity: float
    perplexity_character: float
    sentences_per_second: float
    contaminated: int | None
    notes: list[str]
    raw_scores: list[tuple[float, float]] = field(default_factory=list)
    confidence_error: float | None = None

    def row(self) -> dict[str, str]:
        """Return the scores by the names of their columns."""
        return {
            "Test set": self.test_set.name,
            "Pairs": f"{len(self.outputs):,}",
            "BLEU": f"{self.bleu.value:.2f}",
            "chrF": f"{self.chrf.value:.2f}",
            "Exact": f"{self.exact:.1%}",
            "Perplexity": f"{self.perplexity:.3g}",
            "In the training data": "" if self.contaminated is None else f"{self.contaminated:,}",
            "Notes": f"{len(self.notes):,}" if self.notes else "",
        }

    def __repr__(self) -> str:
        cells = ", ".join(f"{name}: {cell}" for name, cell in self.row().items() if cell)
        return f"<Evaluation {cells}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as a JSON object."""
        tokenised = self.bleu_tokenised_lowercase
        return {
            "pairs": len(self.outputs),
            "bleu": round(self.bleu.value, 2),
            "bleu_lowercase": round(self.bleu_lowercase.value, 2),
            **({"bleu_tokenised_lowercase": round(tokenised.value, 2)} if tokenised else {}),
            "chrf": round(self.chrf.value, 2),
            "exact": round(self.exact, 4),
            "wer": round(self.wer, 2),
            "cer": round(self.cer, 2),
            "perplexity": _round(self.perplexity, 3),
            "perplexity_character": _round(self.perplexity_character, 4),
            "sentences_per_second": round(self.sentences_per_second, 1),
            **(
                {} if self.confidence_error is None else {"confidence_error": round(self.confidence_error, 4)}
            ),
            "contaminated": self.contaminated,
            "signature": self.bleu.signature,
            "signature_lowercase": self.bleu_lowercase.signature,
            **({"signature_tokenised": tokenised.signature} if tokenised else {}),
            "signature_chrf": self.chrf.signature,
        }


def _round(value: float, digits: int) -> float | None:
    """Return a rounded number; None for NaN and infinity, which JSON lacks."""
    return round(value, digits) if math.isfinite(value) else None


def read_test_set(name: str, data: DataSettings, files: Sequence[str]) -> TestSet:
    """Read a test set: a source and a target file, or one file with both.

    Raises:
        UserError: see ``data.pairs.read_pairs``; more than two files.
    """
    if not 1 <= len(files) <= 2:
        raise UserError(
            f"{len(files)} files", place=f"test set {name}", remedy="Name a source and a target file."
        )
    pairs = list(read_pairs(data, files[:1], files[1:]))
    return TestSet(name, [source for source, _ in pairs], [target for _, target in pairs])


def unreadable(data: DataSettings, corpus: str = "") -> Iterator[str]:
    """Yield a caution for every unreadable test set, before training rather than after it."""
    for name, files in data.tests.items():
        try:
            read_test_set(name, data, files)
        except UserError as error:
            yield f"caution: the test set {name}{corpus} cannot be read: {error}"


def test_sets(data: DataSettings) -> list[TestSet]:
    """Read all test sets of a recipe; with several corpora, in every direction.

    Raises:
        UserError: there are none; they cannot be read.
    """
    if several(data):
        return _of_corpora(data)
    if not data.tests:
        raise UserError("the run's recipe names no test sets", remedy="Name files: --src FILE --tgt FILE.")
    return [read_test_set(name, data, files) for name, files in data.tests.items()]


def _of_corpora(data: DataSettings) -> list[TestSet]:
    every = [(corpus, pair) for corpus in corpora(data) for pair in corpus.directions]
    pairs = [pair for _, pair in every]
    tests = []
    for corpus, pair in every:
        label = "-".join(pair) if pairs.count(pair) == 1 else f"{'-'.join(pair)} ({corpus.name})"
        for name, files in corpus.files.tests.items():
            test = read_test_set(name, corpus.files, files)
            sides = test.sources, test.references
            sources, references = sides if pair[0] == corpus.source_language else sides[::-1]
            way = Way(*pair, corpus.tags, zero_shot=not corpus.weight)
            tests.append(TestSet(f"{label} {name}", sources, references, way))
    if not tests:
        remedy = 'Name some in a corpus, tests.NAME = ["source file", "target file"]; or --src, --tgt, --to.'
        raise UserError("the corpora name no test sets", place=place(data), remedy=remedy)
    return tests


def requested_test_sets(
    data: DataSettings,
    source: str | Path | None,
    target: str | Path | None,
    *,
    way: Way | None = None,
) -> list[TestSet]:
    """Read the test set in the given files; without files, the test sets of the recipe.

    Paths are relative to the working directory.

    Args:
        data: data settings of the recipe.
        source: source file.
        target: file of references.
        way: direction of the files; without files, a filter on the recipe's test sets.

    Raises:
        UserError: a target without a source; no test set at all; see ``read_test_set``.
    """
    if source is None and target is not None:
        raise UserError("--tgt without --src", remedy="Name both sides: --src FILE --tgt FILE.")
    if source is None:
        tests = test_sets(data)
        matching = [test for test in tests if way is None or (test.way or way).fits(way.source, way.target)]
        if not matching:
            remedy = f"Name files: --src FILE --tgt FILE. There is {', '.join(test.name for test in tests)}."
            raise UserError("no test set in this direction", place="--to", remedy=remedy)
        return matching
    files = [str(file) for file in (source, target) if file is not None]
    test = read_test_set(Path(source).name, data.model_copy(update={"dir": "."}), files)
    return [replace(test, way=way)]


def named_sources(data: DataSettings, source: str | Path | None) -> list[str]:
    """Return the source files that :func:`requested_test_sets` reads."""
    return [str(source)] if source is not None else [files[0] for files in data.tests.values() if files]


def perturb_sources(test_set: TestSet, how: Perturbation, rate: float) -> TestSet:
    """Return a test set with perturbed sources and the same references, see ``text.perturb``."""
    sources = [perturb(text, how, rate, number=number) for number, text in enumerate(test_set.sources)]
    return replace(test_set, name=f"{test_set.name}, {how} {rate:g}", sources=sources)


def direct(translator: Translator, way: Way | None) -> Translator:
    """Return the translator for the direction of a test set; itself if it has a single direction."""
    if way is None or translator.directions is None:
        return translator
    return translator.toward(way.target, way.source, way.tags, zero_shot=way.zero_shot)


def evaluate(
    translator: Translator,
    test_set: TestSet,
    search: SearchSettings,
    *,
    run: Run | None = None,
    tokenise: Tokenise | None = None,
    progress: OnCount | None = None,
) -> Evaluation:
    """Translate a test set, score the outputs, and compute the perplexity of the references.

    Args:
        translator: a translator of one run, or of an ensemble.
        test_set: the test set.
        search: search settings.
        run: the run, whose placeholders are carried, and whose training data may have test sentences.
        tokenise: see :attr:`Evaluation.bleu_tokenised_lowercase`.
        progress: called with the number of translated lines.

    Raises:
        UserError: see ``Translator.translate``.
    """
    sources, references = test_set.sources, test_set.references
    translator = direct(translator, test_set.way)
    search = search.model_copy(update={"n_best": 1})
    began = time.perf_counter()
    known, changed = (run.trained_symbols, run.changed_kinds) if run else ((), ())
    translations = translate_lines(translator, sources, search, known, changed, progress=progress)
    seconds = time.perf_counter() - began
    outputs = [translation.text for translation in translations]
    scored = translator.score(list(zip(sources, references, strict=True)))
    valid = [score for score in scored if score.note is None]
    nll = -sum(score.log_probability for score in valid)
    tokens = sum(len(score.token_log_probabilities) for score in valid)
    characters = sum(
        len(reference) + 1 for reference, score in zip(references, scored, strict=True) if score.note is None
    )
    tokenised = None
    if tokenise is not None:
        lowered = ([text.lower() for text in texts] for texts in (outputs, references))
        tokenised = bleu(*(tokenise(texts) for texts in lowered), lowercase=True, tokenize="none")
    raw = raw_scores(translations, references)
    calibration = Calibration.load(run.folder) if run and len(translator.models) == 1 else Calibration()
    confident = [(calibration(mean), quality) for mean, quality in raw]
    return Evaluation(
        raw_scores=raw,
        confidence_error=calibration_error(confident) if calibration.points else None,
        test_set=test_set,
        outputs=outputs,
        bleu=bleu(outputs, references),
        bleu_lowercase=bleu(outputs, references, lowercase=True),
        bleu_tokenised_lowercase=tokenised,
        chrf=chrf(outputs, references),
        exact=exact_match(outputs, references),
        wer=word_error_rate(outputs, references),
        cer=character_error_rate(outputs, references),
        perplexity=perplexity(nll, tokens) if valid else math.nan,
        perplexity_character=perplexity(nll, characters) if valid else math.nan,
        sentences_per_second=len(sources) / seconds,
        contaminated=_contamination(run, sources) if run else None,
        notes=[
            f"{test_set.name}:{number}: {translation.note}"
            for number, translation in enumerate(translations, start=1)
            if translation.note
        ],
    )


def compare(first: Evaluation, second: Evaluation, *, lowercase: bool = False) -> Mapping[str, Comparison]:
    """Test the difference of two systems' BLEU and chrF for significance (paired bootstrap)."""
    return paired_bootstrap(first.outputs, second.outputs, first.test_set.references, lowercase=lowercase)


def _contamination(run: Run, sources: Sequence[str]) -> int | None:
    data = run.recipe.data
    store: Path = cache_root(data.cache) / str(run.environment["data"].get("fingerprint", ""))[:32]
    try:
        return contamination(store, sources)
    except (OSError, ValueError):  # the cache was cleared, or the run was made on another machine
        return None
