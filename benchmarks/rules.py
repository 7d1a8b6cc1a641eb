"""Rules around the model, each switched off alone: BLEU, chrF, what is kept, words changed before the search.

    python benchmarks/rules.py RUN --src dev.de --tgt dev.en --name multi30k

Adds a set to results/rules.json and prints all sets. A rule stays if it harms no set by more than 0.1 and
helps one by 0.3 (BLEU or chrF), or keeps what must not be lost.

The row of a rule is what it adds: all rules minus all but this one. Names (words with a capital, except the
first), numbers, placeholders: per cent of those in source and reference that the output has. Changed: per
cent of the source's words (edited: all right) searched as others, ignoring case. Lines: outputs changed.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import regex

import multihead
from multihead.run.environment import environment
from multihead.scores import bleu, chrf
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.texts import fragments, protected_line, sentence_search
from multihead.tasks.translation.texts import text_translator as texts
from multihead.text import sentence_rules, symbols
from multihead.text.casing import Casing
from multihead.text.lines import read_lines
from multihead.text.placeholder_patterns import DEFAULT, find
from multihead.text.placeholders import restore

KINDS: Mapping[str, Callable[[str], list[str]]] = {
    "names": regex.compile(r"(?<=\S\s+)[\p{L}\p{N}_.+-]*\p{Lu}[\p{L}\p{N}_.+-]*[\p{L}\p{N}]").findall,
    "numbers": lambda text: [span.text for span in find(text, DEFAULT) if span.kind == "number"],
    "placeh.": lambda text: [span.text for span in find(text, DEFAULT) if span.kind != "number"],
}
RESULT = Path(__file__).parents[1] / "results" / "rules.json"
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_LAYOUT, _SEARCH = texts.laid_out, sentence_search.SentenceSearch
_NO_PARTS = (_SEARCH, "_in_parts", lambda self, lines, lacking: lacking)

RULES: Mapping[str, Sequence[tuple[Any, str, object]]] = {
    "symbols for placeholders": [(texts.TextTranslator, "_symbols_in_use", frozenset())],
    "placeholders found": [(protected_line, name, frozenset()) for name in ("CARRIED", "DEFAULT")],
    "unknown words": [(protected_line, "unknown_words", lambda text, tokenizer: ())],
    "shapes left to the model": [("run", "changed", frozenset())],
    "search for what lacks": [(_SEARCH, "_force", lambda self, lines: [None] * len(lines)), _NO_PARTS],
    "translation in parts": [_NO_PARTS],
    "search without loops": [(sentence_search, "loops", lambda output, source=(): False)],
    "capitals restored": [("run", "casing", Casing())],
    "tags by attention": [(LineTranslator, "word_weights", lambda self, lines, *_: [None] * len(lines))],
    "sentences split": [(texts, "laid_out", lambda text, code, **_: _LAYOUT(text, code, sentences=False))],
    "abbreviations": [(sentence_rules, n, frozenset()) for n in ("NEVER", "SELDOM", "OFTEN", "NUMBERED")],
    "particles": [(m, "following_with_particle", lambda _, text: text) for m in (protected_line, fragments)],
}
"""Attributes replaced to switch a rule off; "run": an attribute that the text translator read from it."""


@contextmanager
def without(rule: str, translator: texts.TextTranslator) -> Iterator[list[Any]]:
    """Switch a rule off; yield the list to which searched lines are added."""
    lines, prepare = [], texts.line
    with ExitStack() as stack:
        stack.enter_context(patch.object(texts, "line", lambda *a: lines.append(prepare(*a)) or lines[-1]))
        for place, name, value in RULES.get(rule, ()):
            stack.enter_context(patch.object(translator if place == "run" else place, name, value))
        yield lines


def remembering(translate: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return ``LineTranslator.translate`` that searches a sentence once: outputs differ by the rule."""
    known: dict[object, Any] = {}

    def remember(self: Any, lines: Any, settings: Any, *, phrases: Any = None, **_: Any) -> list[Any]:
        forced = phrases or [()] * len(lines)
        how = type(self.source_tokenizer), settings.model_dump_json()
        keys = [(how, text, *(p.forms for p in part)) for text, part in zip(lines, forced, strict=True)]
        new = {key: number for number, key in enumerate(keys) if key not in known}
        required = phrases and [forced[number] for number in new.values()]
        outputs = translate(self, [lines[number] for number in new.values()], settings, phrases=required)
        known.update(zip(new, outputs, strict=True))
        return [known[key] for key in keys]

    return remember


def share_changed(lines: Sequence[Any]) -> float:
    """Return the per cent of words that are searched as another."""
    total = changed = 0
    for line in lines:
        searched = restore(line.text if line.symbols else symbols.escape(line.text), line.table)[0]
        before, after = (Counter(_WORD.findall(text.casefold())) for text in (line.unit.text, searched))
        total, changed = total + before.total(), changed + (before - after).total()
    return 100 * changed / max(1, total)


def share_kept(read: Callable[[str], list[str]], *sets: Sequence[str]) -> float:
    """Return the per cent of what source and reference have that the output has too."""
    total = kept = 0
    for source, reference, output in zip(*sets, strict=True):
        for part, count in Counter(read(source)).items():
            expected = min(count, reference.count(part))
            total, kept = total + expected, kept + min(expected, output.count(part))
    return 100 * kept / total if total else 100.0


def measure(run: str, sources: Sequence[str], references: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the figures with all rules, and without each."""
    translator = texts.TextTranslator.of_runs(multihead.load(run), run)
    results: dict[str, dict[str, float]] = {}
    outputs: dict[str, list[str]] = {}
    for rule in ("all", *RULES):
        with without(rule, translator) as lines:
            output = outputs[rule] = [result.text for result in translator.translate(sources)]
        figures = {"BLEU": bleu(output, references).value, "chrF": chrf(output, references).value}
        figures |= {kind: share_kept(read, sources, references, output) for kind, read in KINDS.items()}
        figures |= {"changed": share_changed(lines), "lines": sum(map(str.__ne__, output, outputs["all"]))}
        results[rule] = {key: round(value, 3) for key, value in figures.items()}
    return results


def main() -> None:
    """Measure one set, add it to the results and print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run")
    for option in ("--src", "--tgt", "--name"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    results = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"sets": {}}
    with patch.object(LineTranslator, "translate", remembering(LineTranslator.translate)):
        sides = (list(read_lines(path)) for path in (options.src, options.tgt))
        results["sets"][options.name] = measure(options.run, *sides)
    results["environment"] = environment({})
    RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for name, rules in results["sets"].items():
        print(f"{name:26}" + "".join(f"{key:>9}" for key in rules["all"]))
        for rule, figures in rules.items():
            kept = figures if rule == "all" else {"lines": figures["lines"]}
            added = {k: kept.get(k, rules["all"][k] - v) for k, v in figures.items()}
            print(f"{rule:26}" + "".join(f"{round(value, 2) + 0.0:9.4g}" for value in added.values()))


if __name__ == "__main__":
    main()
