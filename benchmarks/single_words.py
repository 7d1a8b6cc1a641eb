"""Share of a corpus's frequent words that a run translates alone as the corpus does, and the words it adds.

    python benchmarks/single_words.py runs/de-en --src train.de --tgt train.en

The words are 300 of those that occur four times or more in the first 8,000 pairs, evenly spaced by frequency,
and have a translation of weight 0.35 in a lexicon of these pairs (IBM model 1); a translation is right if its
weight is 0.1 or more. Prints JSON.
"""

import json
from collections import Counter
from pathlib import Path

import tyro

import multihead
from multihead.text.lexicon import WORD, Lexicon

PAIRS, WORDS, LEAST_COUNT = 8000, 300, 4
SURE, RIGHT = 0.35, 0.1


def main(run: tyro.conf.Positional[Path], /, src: Path, tgt: Path) -> None:
    """Translate the words, print."""
    sides = [path.read_text(encoding="utf-8").split("\n")[:PAIRS] for path in (src, tgt)]
    lexicon = Lexicon.learn(zip(*sides, strict=True))
    weights = json.loads(lexicon.to_json())["weights"]
    spellings = Counter(word for line in sides[0] for word in WORD.findall(line))
    counts: Counter[str] = Counter()
    for word, count in spellings.items():
        counts[word.lower()] += count
    frequent = [word for word, count in counts.most_common() if count >= LEAST_COUNT and word.isalpha()]
    sure = [
        word for word in frequent if len(word) > 2 and max(weights.get(word, {}).values(), default=0) >= SURE
    ]
    words = sure[:: max(1, len(sure) // WORDS)][:WORDS]
    inputs = [max(word, word.capitalize(), key=spellings.__getitem__) for word in words]
    outputs = [output.text for output in multihead.load(run).translate(inputs)]
    pairs = zip(words, outputs, strict=True)
    right = sum(lexicon.weight(word, output.strip(" .")) >= RIGHT for word, output in pairs)
    added = sum(len(output.split()) - 1 for output in outputs)
    result = {
        "words": len(words),
        "right": round(right / len(words), 3),
        "words added": round(added / len(words), 2),
    }
    examples = dict(zip(inputs[:12], outputs, strict=False))
    print(json.dumps({**result, "examples": examples}, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    tyro.cli(main)
