"""Coreference in made-up sentences: the gender of a translated "it", and the noun that heads attend to.

    taskset -c 0 env OMP_NUM_THREADS=1 python benchmarks/coreference.py

trains the recipe coreference with three seeds, one after another, on one thread; finished runs are kept. The
best head is chosen on the validation part and measured on the test part. Writes results/coreference.json.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.data import coreference
from multihead.data.batches import collate
from multihead.data.coreference import CoreferenceExample
from multihead.inspect.maps import record, sentence
from multihead.run.environment import environment
from multihead.tasks.translation.lines import Translator

ROOT = Path(__file__).parents[1]
WORK = Path("runs/coreference")
SEEDS = (1, 2, 3)
CORPUS_SEED = 1
TRAIN = (
    "train coreference --data.dir {work}/data --training.seed {seed} --training.threads 1 "
    "--run {work}/seed-{seed}"
)
QUERIES = ("it", "adjective", "pronoun")
"""Words of the source, whose encoder self-attention counts, and the French pronoun."""
BATCH = 115
Weights = NDArray[np.float32]


def main() -> None:
    """Train, measure, write and draw."""
    parts = coreference.make(CORPUS_SEED)
    multihead(f"data make coreference --to {WORK}/data --seed {CORPUS_SEED}")
    test, seeds = parts["test"], dict[str, Any]()
    result = {
        "what": "pronouns with the right gender, and heads that attend to the noun meant: in the encoder "
        "from a word, in the decoder where it writes the pronoun (cross-attention); held-out "
        "combinations of animal, place and adjective, share of the sentences",
        "commands": ["taskset -c 0 env OMP_NUM_THREADS=1 python benchmarks/coreference.py"],
        "environment": environment({}),
        "sentences": {name: len(part) for name, part in parts.items()},
        "test sentences whose nouns differ in gender": len(differing(test)),
        "baselines of the gender, nouns differ": baselines(differing(test)),
        "baselines of the noun, all": baselines(test),
        "seeds": seeds,
    }
    for seed in SEEDS:
        multihead(TRAIN.format(work=WORK, seed=seed))
        translator = Translator.load(WORK / f"seed-{seed}", device="cpu")
        seeds[str(seed)] = measure(translator, parts)
        text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
        (ROOT / "results" / "coreference.json").write_text(text, encoding="utf-8")


def multihead(arguments: str) -> None:
    """Run a command of the package."""
    subprocess.run([sys.executable, "-m", "multihead", *arguments.split()], check=True)


def differing(examples: Iterable[CoreferenceExample]) -> list[CoreferenceExample]:
    """Return the examples whose nouns differ in gender, so that the pronoun tells which is meant."""
    return [example for example in examples if example.animal.feminine != example.place.feminine]


def baselines(examples: Sequence[CoreferenceExample]) -> dict[str, float]:
    """Return the share of the examples in which the rule's noun is the right one."""
    first = [(example.referent is example.place) == example.place_first for example in examples]
    return {"first noun": share(first), "nearer noun": share(not right for right in first)}


def share(right: Iterable[bool]) -> float:
    """Return the share that is true, with four digits."""
    return round(float(np.mean([*right])), 4)


def right_gender(example: CoreferenceExample, output: str) -> bool:
    """Return whether a translation has the right pronoun."""
    return ("qu'elle" if example.referent.feminine else "qu'il") in output.split()


def measure(translator: Translator, parts: dict[str, list[CoreferenceExample]]) -> dict[str, Any]:
    """Return the genders and the best heads of a translator on the test part."""
    test = parts["test"]
    outputs = [line.text for line in translator.translate([example.source for example in test])]
    right = [right_gender(example, output) for example, output in zip(test, outputs, strict=True)]
    named = differing(test)
    figures_of_run = {
        "right gender, nouns differ": share(
            ok for example, ok in zip(test, right, strict=True) if example in named
        ),
        "right gender, all": share(right),
        "exact": share(example.target == output for example, output in zip(test, outputs, strict=True)),
        "famous sentences": outputs[0:3:2],
    }
    for query in QUERIES:
        valid, tested = (attends_right(translator, parts[name], query) for name in ("valid", "test"))
        best = np.unravel_index(valid.argmax(), valid.shape)
        figures_of_run[f"attention of {query}"] = {
            "layer": int(best[0]) + 1,
            "head": int(best[1]) + 1,
            "valid": round(float(valid[best]), 4),
            "test": round(float(tested[best]), 4),
            "test of all heads, by layer": [[round(float(x), 4) for x in row] for row in tested],
        }
    return figures_of_run


def attends_right(translator: Translator, examples: Sequence[CoreferenceExample], query: str) -> Weights:
    """Return the share of the examples in which each head attends more to the right noun, (layers, heads)."""
    right = []
    for start in range(0, len(examples), BATCH):
        batch = examples[start : start + BATCH]
        name = "cross" if query == "pronoun" else "encoder self"
        for example, (weights_LHQK, words) in zip(batch, attention(translator, batch, name), strict=True):
            wrong = example.place if example.referent is example.animal else example.animal
            nouns = example.referent.english, wrong.english
            asking = example.adjective if query == "adjective" else "it"
            if query == "pronoun":
                weights_LHQK, asking = at_pronoun(translator, example, weights_LHQK), ""
            right.append(prefers(weights_LHQK, words, asking, nouns))
    return np.asarray(np.mean(right, axis=0), dtype=np.float32)


def at_pronoun(translator: Translator, example: CoreferenceExample, weights_LHQK: Weights) -> Weights:
    """Return the cross-attention of the step that writes the pronoun's gender, (layers, heads, 1, keys)."""
    target = translator.target_tokenizer
    labels = sentence(target, target.encode(example.target))
    words = [labels.words[token.word].text for token in labels.pieces]
    row = max(place for place, word in enumerate(words) if word in ("qu'il", "qu'elle", "il", "elle"))
    return weights_LHQK[:, :, row : row + 1]


def attention(
    translator: Translator, examples: Sequence[CoreferenceExample], kind: str = "encoder self"
) -> list[tuple[Weights, list[str]]]:
    """Return attention to the source (layers, heads, queries, keys) and the words of the source tokens."""
    source, target = translator.source_tokenizer, translator.target_tokenizer
    ids = [source.encode(example.source) for example in examples]
    outputs = [target.encode(example.target) for example in examples]
    batch = collate(ids, outputs, pad_id=target.pad_id, bos_id=target.bos_id, eos_id=target.eos_id)
    layers = [layer for layer in record(translator.models[0], batch) if layer.kind == kind]
    found = []
    for row, sequence in enumerate(ids):
        labels = sentence(source, [*sequence, source.eos_id])
        words = [labels.words[token.word].text for token in labels.pieces]
        found.append((np.stack([layer.sentence(row) for layer in layers]), words))
    return found


def word_attention(weights_LHQK: Weights, words: Sequence[str], query: str, key: str) -> Weights:
    """Return the attention of a word to another: sum over its tokens, mean over those of the query.

    The query "" is the first row.
    """
    rows, columns = ([i for i, word in enumerate(words) if word == name] for name in (query, key))
    rows = rows if query else [0]
    if not rows or not columns:
        raise ValueError(f"{query if not rows else key!r} is not a word of {words}")
    return np.asarray(weights_LHQK[:, :, rows][..., columns].sum(-1).mean(-1))


def prefers(
    weights_LHQK: Weights, words: Sequence[str], query: str, nouns: tuple[str, str]
) -> NDArray[np.bool_]:
    """Return whether each head attends more to the first noun than to the second, (layers, heads)."""
    right, wrong = (word_attention(weights_LHQK, words, query, noun) for noun in nouns)
    return np.asarray(right > wrong)


if __name__ == "__main__":
    main()
