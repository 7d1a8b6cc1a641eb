"""Table 1 of "Attention Is All You Need", measured.

    python benchmarks/complexity.py --out results

times one layer of each kind, forward and backward, over the length n and the width d; counts the bytes that
it keeps for the backward pass; fits exponents to both (~ n^a d^b); and finds the maximum path length in the
graph of dependencies between positions. Writes complexity.json, complexity.md and complexity.svg. With
``--times-from results/complexity.json`` times and memory come from an earlier run; paths are found anew.

Self-attention is attention alone, softmax(QK^T / sqrt(d)) V, as in the table: its projections cost n d^2. The
table's O(log_k n) path of a convolution belongs to dilated kernels (inputs 1, k, k^2, ... positions apart);
contiguous kernels need O(n / k) layers (sec. 4). Both are counted.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import tyro
from matplotlib.figure import Figure
from torch import Tensor, nn

from multihead.inspect import figures
from multihead.nn import attention, masks
from multihead.run.environment import environment

R, K, BATCH = 33, 3, 4
"""The window of restricted self-attention and a convolution's kernel, both odd; sentences at a time."""

Layer = Callable[[Tensor], Tensor]
"""(B, n, d) to the same."""


def self_attention(d: int) -> Layer:
    """Every position attends to every other: equation 1. Kernels that recompute weights keep no square."""
    return lambda x_BNd: attention(x_BNd, x_BNd, x_BNd, None)


def recurrent(d: int) -> Layer:
    """h_t = tanh(W x_t + U h_t-1 + b)."""
    rnn = nn.RNN(d, d, batch_first=True)
    return lambda x: rnn(x)[0]


def convolutional(d: int) -> Layer:
    """A convolution of width K with contiguous kernels."""
    convolution = nn.Conv1d(d, d, K, padding=K // 2)
    return lambda x: convolution(x.mT).mT


def dilated(d: int, dilation: int) -> Layer:
    """A causal convolution of width K; its inputs lie ``dilation`` positions apart."""
    convolution = nn.Conv1d(d, d, K, dilation=dilation)
    return lambda x: convolution(F.pad(x.mT, ((K - 1) * dilation, 0))).mT


def restricted(d: int) -> Layer:
    """Each position attends to the R around it: blocks of queries, keys of adjacent blocks.

    Scores of positions further apart are never computed; a mask would only hide them.
    """
    reach = R // 2

    def layer(x_BNd: Tensor) -> Tensor:
        N = x_BNd.shape[1]
        blocks = math.ceil(N / reach)
        padded = F.pad(x_BNd, (0, 0, reach, reach + blocks * reach - N))
        q = padded[:, reach : reach + blocks * reach].view(len(x_BNd), blocks, reach, -1)
        k = padded.unfold(1, 3 * reach, reach).mT
        query, key = torch.arange(reach)[:, None] + reach, torch.arange(3 * reach)
        place = torch.arange(blocks)[:, None, None] * reach + key - reach
        allowed = ((key - query).abs() <= reach) & (place >= 0) & (place < N)
        return attention(q, k, k, allowed).flatten(1, 2)[:, :N]

    return layer


@dataclass(frozen=True)
class Kind:
    """A row of the table: its name, a constructor of a layer of width d, and the paper's terms."""

    name: str
    make: Callable[[int], Layer]
    complexity: str
    path: str


KINDS = (
    Kind("self-attention", self_attention, "n^2 d", "1"),
    Kind("recurrent", recurrent, "n d^2", "n"),
    Kind("convolutional", convolutional, "k n d^2", "log_k(n)"),
    Kind("self-attention (restricted)", restricted, "r n d", "n / r"),
)

# --- measuring ----------------------------------------------------------------------------------------


def seconds(layer: Layer, n: int, d: int, least: float) -> float:
    """The fastest pass forward and backward among those that fit into so many seconds, one at least."""
    x = torch.randn(BATCH, n, d, requires_grad=True)
    layer(x).sum().backward()  # type: ignore[no-untyped-call]
    fastest, until = math.inf, time.perf_counter() + least
    while fastest == math.inf or time.perf_counter() < until:
        began = time.perf_counter()
        layer(x).sum().backward()  # type: ignore[no-untyped-call]
        fastest = min(fastest, time.perf_counter() - began)
    return fastest


def kept_bytes(layer: Layer, n: int, d: int) -> int:
    """Bytes kept for the backward pass of one sentence: its input counts, weights do not."""
    x = torch.randn(1, n, d, requires_grad=True)
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        if not isinstance(tensor if tensor._base is None else tensor._base, nn.Parameter):
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = layer(x)
    assert out.requires_grad
    return sum(kept.values())


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of log(value) over log(size), by least squares."""
    return round(float(np.polyfit(np.log(sizes), np.log(values), 1)[0]), 2)


def dependencies(kind: Kind, n: int) -> Tensor:
    """(n, n): whether output i depends on input j within one layer.

    Of a recurrent layer a single step counts: from a state to itself and to the next.
    """
    if kind.make is recurrent:
        return torch.eye(n).add(torch.diag(torch.ones(n - 1), -1)) > 0
    return reached_by(kind.make(2), n)


def reached_by(layer: Layer, n: int) -> Tensor:
    """(n, n): whether output i of a layer of width 2 depends on input j, by its gradients."""
    x = torch.randn(1, n, 2, requires_grad=True)
    out = layer(x)
    gradients = [torch.autograd.grad(out[0, i].sum(), x, retain_graph=True)[0][0] for i in range(n)]
    return torch.stack(gradients).abs().sum(2) > 0


def path_length(kind: Kind, n: int) -> int:
    """The longest of the shortest paths between two of n positions, in layers (recurrent: in steps)."""
    once = dependencies(kind, n).double()
    wanted = torch.ones(n, n).tril().bool() if kind.make is recurrent else torch.ones(n, n).bool()
    reached, length = once, 1
    while not bool((reached > 0)[wanted].all()):
        reached, length = (reached @ once).clamp_max(1), length + 1
    return length


def dilated_path_length(n: int) -> int:
    """Layers until each position depends on all before it, with dilations 1, K, K^2, ..."""
    reached, length = torch.eye(n, dtype=torch.double), 0
    while not bool((reached > 0)[torch.ones(n, n).tril().bool()].all()):
        reached, length = (reached @ reached_by(dilated(2, K**length), n).double()).clamp_max(1), length + 1
    return length


PATHS = (32, 64, 128)
"""Lengths at which paths are counted."""


def paths(kind: Kind) -> dict[str, dict[int, int]]:
    """Return the path lengths of a kind of layer, of convolutions also those of dilated kernels."""
    found = {"path_by_n": {n: path_length(kind, n) for n in PATHS}, "dilated_path_by_n": {}}
    if kind.make is convolutional:
        found["dilated_path_by_n"] = {n: dilated_path_length(n) for n in PATHS}
    return found


@dataclass(frozen=True)
class Measured:
    """Measurements of a kind of layer: values by size, and the exponents fitted to them."""

    name: str
    complexity: str
    path: str
    seconds_by_n: dict[int, float]
    seconds_by_d: dict[int, float]
    bytes_by_n: dict[int, int]
    bytes_by_d: dict[int, int]
    time_exponents: tuple[float, float]
    memory_exponents: tuple[float, float]
    path_by_n: dict[int, int]
    dilated_path_by_n: dict[int, int]


def measure(kind: Kind, lengths: Sequence[int], widths: Sequence[int], least: float) -> Measured:
    """Measure over n at the smallest width, and over d at the smallest length."""
    n_0, d_0 = lengths[0], widths[0]
    layer = kind.make(d_0)
    by_n = {n: seconds(layer, n, d_0, least) for n in lengths}
    by_d = {d: seconds(kind.make(d), n_0, d, least) for d in widths}
    bytes_by_n = {n: kept_bytes(layer, n, d_0) for n in lengths}
    bytes_by_d = {d: kept_bytes(kind.make(d), n_0, d) for d in widths}

    def exponents(values_by_n: Mapping[int, float], values_by_d: Mapping[int, float]) -> tuple[float, float]:
        return exponent(lengths, [*values_by_n.values()]), exponent(widths, [*values_by_d.values()])

    return Measured(
        name=kind.name,
        complexity=kind.complexity,
        path=kind.path,
        seconds_by_n=by_n,
        seconds_by_d=by_d,
        bytes_by_n=bytes_by_n,
        bytes_by_d=bytes_by_d,
        time_exponents=exponents(by_n, by_d),
        memory_exponents=exponents(bytes_by_n, bytes_by_d),
        **paths(kind),
    )


def read(file: Path) -> list[Measured]:
    """Return times and memory of an earlier run, with paths found anew."""

    def with_sizes(content: dict[str, object]) -> dict[str | int, object]:
        return {int(key) if key.isdigit() else key: value for key, value in content.items()}

    layers = json.loads(file.read_text(encoding="utf-8"), object_hook=with_sizes)["layers"]
    by_name = {layer["name"]: layer for layer in layers}
    return [
        Measured(**{**by_name[kind.name], "complexity": kind.complexity, "path": kind.path, **paths(kind)})
        for kind in KINDS
    ]


# --- reporting ----------------------------------------------------------------------------------------


def table(measured: Sequence[Measured]) -> str:
    """The paper's columns beside ours, as Markdown."""
    head = "| layer | the paper | time | memory | path, the paper | path at n = 32, 64, 128 |"
    rows = [
        f"| {m.name} | O({m.complexity}) | n^{m.time_exponents[0]} d^{m.time_exponents[1]} "
        f"| n^{m.memory_exponents[0]} d^{m.memory_exponents[1]} | O({m.path}) "
        f"| {path_cell(m)} |"
        for m in measured
    ]
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows]) + "\n"


def path_cell(m: Measured) -> str:
    """Path lengths; of convolutions with contiguous and with dilated kernels."""
    found = ", ".join(map(str, m.path_by_n.values()))
    if not m.dilated_path_by_n:
        return found
    dilated_ones = ", ".join(map(str, m.dilated_path_by_n.values()))
    return f"dilated {dilated_ones}; contiguous, O(n / k), {found}"


COLOURS = (figures.BLUE, figures.ORANGE, figures.GREEN, figures.INK)


def plot(measured: Sequence[Measured], file: Path) -> None:
    """Time over n and over d, memory over n, all axes logarithmic."""
    with figures.style():
        figure = Figure(figsize=(11, 3.6), layout="constrained")
        panels = (
            ("seconds, forward and backward", "length n", [m.seconds_by_n for m in measured]),
            ("seconds, forward and backward", "width d", [m.seconds_by_d for m in measured]),
            ("MiB kept for the backward pass", "length n", [in_mib(m.bytes_by_n) for m in measured]),
        )
        for axes, (title, name, values) in zip(figure.subplots(1, 3), panels, strict=True):
            for m, colour, by_size in zip(measured, COLOURS, values, strict=True):
                axes.loglog([*by_size], [*by_size.values()], marker="o", color=colour, label=m.name)
            axes.set_title(title, loc="left")
            axes.set_xlabel(name)
            axes.set_xticks([*values[0]], [str(size) for size in values[0]])
            axes.minorticks_off()
        figure.axes[0].legend()
        figures.save(figure, file)


def in_mib(values: Mapping[int, int]) -> dict[int, float]:
    """The same in MiB."""
    return {size: value / 2**20 for size, value in values.items()}


def main(
    out: Path = Path("results"),
    lengths: tuple[int, ...] = (256, 512, 1024, 2048),
    widths: tuple[int, ...] = (64, 128, 256, 512, 1024),
    least: float = 1.0,
    threads: int = 1,
    times_from: Path | None = None,
) -> None:
    """Measure every kind of layer and write the results.

    Args:
        out: folder of the results.
        lengths: n, ascending.
        widths: d, ascending.
        least: seconds spent on each size.
        threads: CPU threads.
        times_from: complexity.json of an earlier run, whose times and memory are kept.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x = torch.randn(2, 101, 7)
    expected = attention(x, x, x, masks.window(101, R)[0, 0])
    torch.testing.assert_close(restricted(7)(x), expected)
    found = {"r": R, "k": K, "batch": BATCH, "threads": threads, "environment": environment({})}
    if times_from:
        measured = read(times_from)
        found = {**json.loads(times_from.read_text(encoding="utf-8"))}
        found.pop("layers")
    else:
        measured = [measure(kind, lengths, widths, least) for kind in KINDS]
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**found, "layers": [asdict(m) for m in measured]}, indent=2)
    (out / "complexity.json").write_text(text + "\n", encoding="utf-8")
    (out / "complexity.md").write_text(table(measured), encoding="utf-8")
    plot(measured, out / "complexity.svg")
    print(table(measured), end="")


if __name__ == "__main__":
    tyro.cli(main)
