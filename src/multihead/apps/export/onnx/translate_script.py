"""Translates lines with onnxruntime, tokenizers and numpy: python translate.py < letter.de > letter.en"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


class Translator:
    """The model, its tokenizers, and beam search."""

    def __init__(self, folder=Path(__file__).parent, **options):
        self.settings = s = json.loads((Path(folder) / "translate.json").read_text(encoding="utf-8"))
        models = [Path(folder) / f"{name}.onnx" for name in ("encoder", "decoder")]
        self.encoder, self.decoder = (onnxruntime.InferenceSession(model, **options) for model in models)
        self.tokenizers = [Tokenizer.from_file(str(Path(folder) / file)) for file in s["tokenizers"]]
        self.tokenizers[0].encode_special_tokens = True  # input that looks like a symbol is text

    def search(self, lines, beam_size=None, length_penalty=None):
        """Return the best translation of each line, with its score."""
        alpha = self.settings["length_penalty"] if length_penalty is None else length_penalty
        return [self._best(line, beam_size or self.settings["beam_size"], alpha) for line in lines]

    def _best(self, line, beam, alpha):
        s, ids = self.settings, self.tokenizers[0].encode(line, add_special_tokens=False).ids
        longest = min(s["max_length"] or len(ids) + 1 + s["max_extra"], s["capacity"])
        eos, empty, mask = s["eos"], not ids, np.ones((1, len(ids) + 1), np.int64)
        keys, values = self.encoder.run(None, {"ids": np.array([[*ids, eos]]), "mask": mask})
        past = {f"past_{name}": np.zeros(shape, np.float32) for name, shape in s["caches"].items()}
        rows, sums, best = [[s["bos"]]], np.zeros(1), ([], 0.0 if empty else -np.inf)
        for step in range(0 if empty else longest + 1):
            token, position = np.array([row[-1] for row in rows]), np.array([step])
            inputs = {"token": token, "position": position, "source_keys": keys, "source_values": values}
            logits, *caches = self.decoder.run(None, {**inputs, "mask": mask, **past})
            logits = logits.astype(np.float64) - logits.max(1, keepdims=True)
            scores = sums[:, None] + logits - np.log(np.exp(logits).sum(1, keepdims=True))
            scores[:, s["banned"]] = -np.inf
            if step == longest:
                scores[:, np.arange(logits.shape[1]) != eos] = -np.inf
            places = np.argsort(-scores, axis=None, kind="stable")[:beam]
            best_next = [(*divmod(int(place), logits.shape[1]), scores.flat[place]) for place in places]
            penalty, *later = (((5 + n) / 6) ** alpha for n in (step + 1, step + 2, longest + 1))
            ended = [(rows[r], total / penalty) for r, t, total in best_next if t == eos]
            best = max([best, *ended], key=lambda hypothesis: hypothesis[1])
            live = [(r, t, total) for r, t, total in best_next if t != eos and total > -np.inf]
            if not live or live[0][2] / max(later) <= best[1]:
                break
            rows, sums = [[*rows[r], t] for r, t, _ in live], np.array([total for *_, total in live])
            past = {name: cache[:, [r for r, *_ in live]] for name, cache in zip(past, caches)}
        decoder, names = self.tokenizers[-1].decoder, self.tokenizers[-1].id_to_token
        tokens = [s["unknown"] if number == s["unk"] else names(number) for number in best[0][1:]]
        return (decoder.decode(tokens) if decoder else " ".join(tokens)).replace("\n", " "), best[1]


if __name__ == "__main__":
    lines = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").split("\n")
    print("\n".join(text for text, _ in Translator().search(lines)))
