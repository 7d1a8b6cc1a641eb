"""The engine's arithmetic in numpy, one sentence at a time: the oracle of an export, in float32 or int8.

Equations of Marian's students: post-norm Transformer encoder (Vaswani et al. 2017), decoder of SSRUs (Kim et
al. 2019). An int8 product is (round(a x) Q) / (a q), where Q = round(q W) and a is the input's multiplier.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from multihead.apps.export.firefox.binary import Floats, Item, Quantized
from multihead.apps.export.firefox.expressible import EPSILON
from multihead.nn.positions import sinusoids

EOS = 0
ALPHA = "_QuantMultA"
PREPARED = "_prepared_bias"
SHIFT = np.float32(127)
"""Added to rounded inputs, which makes them unsigned."""
OUTPUT = "Wemb"
"""The matrix of embeddings and output layer."""


def longest_output(source: int) -> int:
    """The engine's limit in tokens for a source of this length, its end symbol included (fxtranslate 0.5)."""
    return min(2 * source + 4, 256)


Watch = Callable[[str, Floats], object]
"""Called with the name of a matrix and its input."""


@dataclass
class FirefoxState:
    """A sentence's decoder: keys and values of the source by layer, and each cell's state."""

    source: Sequence[tuple[Floats, Floats]]
    cells: list[Floats]
    steps: int = 0


@dataclass(frozen=True)
class FirefoxReference:
    """Steps of an exported model.

    Attributes:
        items: parameters by Marian's names, in float32 or int8.
        layers: number of encoder layers and of decoder layers.
        heads: number of attention heads.
        watch: called with the input of every matrix.
    """

    items: Mapping[str, Item]
    layers: tuple[int, int]
    heads: int
    watch: Watch | None = None
    _constants: dict[str, Floats] = field(default_factory=dict)
    _wide: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)

    def encode(self, ids: Sequence[int]) -> Floats:
        """The encoder's output, (S, d), for source ids that end with the end symbol."""
        x = self._embed(ids, 0)
        for number in range(1, self.layers[0] + 1):
            name = f"encoder_l{number}"
            keys = self._keys(f"{name}_self", x)
            x = self._layer_norm(f"{name}_self_Wo", x + self._attend(f"{name}_self", x, keys))
            x = self._feed_forward(name, x)
        return x

    def start(self, ids: Sequence[int]) -> FirefoxState:
        """Encode the source."""
        memory = self.encode(ids)
        numbers = range(1, self.layers[1] + 1)
        source = [self._keys(f"decoder_l{number}_context", memory) for number in numbers]
        return FirefoxState(source, [np.zeros((1, memory.shape[1]), np.float32) for _ in numbers])

    def step(self, token: int | None, state: FirefoxState) -> Floats:
        """Logits of the next token, (V,), after ``token``; None: the first step."""
        x = self._embed([] if token is None else [token], state.steps)
        state.steps += 1
        for number, source in enumerate(state.source, start=1):
            name = f"decoder_l{number}"
            gate = self._linear(f"{name}_rnn_Wf", x, f"{name}_rnn_bf")
            forget: Floats = np.float32(1) / (np.float32(1) + np.exp(-gate))
            candidate = self._linear(f"{name}_rnn_W", x)
            cell: Floats = forget * state.cells[number - 1] + (np.float32(1) - forget) * candidate
            state.cells[number - 1] = cell
            x = self._layer_norm(f"{name}_rnn_ffn", x + np.maximum(cell, 0))
            x = self._layer_norm(f"{name}_context_Wo", x + self._attend(f"{name}_context", x, source))
            x = self._feed_forward(name, x)
        logits: Floats = self._linear(OUTPUT, x, "decoder_ff_logit_out_b")[0]
        return logits

    def greedy(self, ids: Sequence[int], longest: int) -> list[int]:
        """The most probable token of each step until the end symbol, at most ``longest`` of them."""
        state, written = self.start(ids), list[int]()
        token = None
        while len(written) < longest:
            logits = self.step(token, state)
            logits[1] = -np.inf  # never the unknown token, as in Marian
            token = int(logits.argmax())
            if token == EOS:
                break
            written.append(token)
        return written

    def _embed(self, ids: Sequence[int], start: int) -> Floats:
        """Scaled embeddings plus positions; a zero vector for no id."""
        matrix = self.items[OUTPUT]
        width = (matrix.values if isinstance(matrix, Quantized) else matrix).shape[1]
        rows = np.zeros((max(1, len(ids)), width), np.float32)
        if ids:
            embeddings = matrix.values[ids] if isinstance(matrix, Quantized) else matrix[ids]
            by = matrix.multiplier if isinstance(matrix, Quantized) else 1.0
            rows = embeddings.astype(np.float32) / np.float32(by) * np.float32(width**0.5)
        table = self._constants.get("positions")
        if table is None or len(table) < start + len(rows):
            table = sinusoids(2 * (start + len(rows)) + 64, width, interleaved=False).numpy()
            self._constants["positions"] = table
        positioned: Floats = rows + table[start : start + len(rows)]
        return positioned

    def _attend(self, name: str, x: Floats, keys: tuple[Floats, Floats]) -> Floats:
        k, v = keys
        q = self._heads(self._affine(f"{name}_W", "q", x))
        scores = q @ k.swapaxes(1, 2) / np.float32(k.shape[2] ** 0.5)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        mixed = (weights @ v).swapaxes(0, 1).reshape(len(x), -1)
        return self._affine(f"{name}_W", "o", mixed)

    def _keys(self, name: str, memory: Floats) -> tuple[Floats, Floats]:
        k, v = (self._heads(self._affine(f"{name}_W", letter, memory)) for letter in "kv")
        return k, v

    def _heads(self, x: Floats) -> Floats:
        split: Floats = x.reshape(len(x), self.heads, -1).swapaxes(0, 1)
        return split

    def _affine(self, name: str, letter: str, x: Floats) -> Floats:
        return self._linear(name + letter, x, f"{name[:-1]}b{letter}")

    def _feed_forward(self, name: str, x: Floats) -> Floats:
        inner = self._linear(f"{name}_ffn_W1", x, f"{name}_ffn_b1")
        out = self._linear(f"{name}_ffn_W2", np.maximum(inner, 0), f"{name}_ffn_b2")
        return self._layer_norm(f"{name}_ffn_ffn", x + out)

    def _layer_norm(self, name: str, x: Floats) -> Floats:
        mean = x.mean(-1, keepdims=True)
        deviation = np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + np.float32(EPSILON))
        scaled: Floats = (x - mean) / deviation * self._float(f"{name}_ln_scale")
        return scaled + self._float(f"{name}_ln_bias")

    def _linear(self, name: str, x: Floats, bias: str | None = None) -> Floats:
        """x W + b, (N, outputs).

        In int8, inputs are shifted by 127, and the bias takes the shift back, in float32 and in the engine's
        order: its rounding decides some of the next product's inputs.
        """
        if self.watch is not None:
            self.watch(name, x)
        item, added = self.items[name], np.float32(0) if bias is None else self._float(bias)
        if not isinstance(item, Quantized):
            plain: Floats = x @ (item.T if name == OUTPUT else item) + added
            return plain
        alpha, multiplier = self._float(name + ALPHA)[0], np.float32(item.multiplier)
        weight = self._exact(name, item)
        if (prepared := self._constants.get(name + PREPARED)) is None:
            back = np.float32(-1) * ((SHIFT / alpha) * (SHIFT / multiplier)) / SHIFT
            prepared = weight.sum(0).astype(np.float32) * back + added
            self._constants[name + PREPARED] = prepared
        unsigned = np.clip(np.rint(x * alpha), -SHIFT, SHIFT) + SHIFT
        # Sums of int8 products are exact in float64, whose products are faster than int32's.
        sums = (unsigned.astype(np.float64) @ weight).astype(np.float32)
        product: Floats = sums * (np.float32(1) / (alpha * multiplier)) + prepared
        return product

    def _exact(self, name: str, item: Quantized) -> npt.NDArray[np.float64]:
        if name not in self._wide:
            self._wide[name] = (item.values.T if name == OUTPUT else item.values).astype(np.float64)
        return self._wide[name]

    def _float(self, name: str) -> Floats:
        item = self.items[name]
        assert not isinstance(item, Quantized), name
        return item
