"""Train a small translator of number words: python examples/train.py [RUN]; half a minute."""

import sys
from pathlib import Path

import multihead
from multihead.text.numbers import WORDS

run = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/example")
run.parent.mkdir(parents=True, exist_ok=True)
for language in ("de", "en"):
    words = [WORDS[language](number) for number in range(1000)]
    (run.parent / f"numbers.{language}").write_text("\n".join(words) + "\n", encoding="utf-8")

size = {"model.d_model": 64, "model.d_ff": 128, "model.num_layers": 1, "model.num_heads": 4}
length = {
    "training.steps": 150,
    "training.batch_tokens": 500,
    "training.learning_rate": 4e-3,
    "training.warmup_steps": 40,
}
multihead.train(
    source=run.parent / "numbers.de",
    target=run.parent / "numbers.en",
    run=run,
    settings={"tokenizer.kind": "bpe", "tokenizer.vocab_size": 330, **size, **length},
)
print(multihead.load(run).translate(["zweiundvierzig"])[0].text)
