"""The numbers that a page shows step by step, computed by its script in node, against PyTorch's."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from live_pages import in_node, page_parts, reversing, vocabulary
from torch import nn

from multihead.models.transformer import Transformer

VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm, grouped keys, learned positions": {
        "norm": "pre", "positions": "learned", "max_positions": 83, "tied": "none", "num_heads": 4,
        "num_kv_heads": 2, "d_v": 7, "output_bias": True,
    },
    "SSRU, unscaled": {
        "decoder_cell": "ssru", "first_input": "zero", "positions": "sinusoidal_concatenated", "score": "dot",
        "num_heads": 4,
    },
}  # fmt: skip
HEAD, LAYER = 2, 1


@cache
def variant(name: str) -> Transformer:
    return reversing(vocabulary(), **VARIANTS[name])


def outputs_of(
    model: Transformer, source: list[int], target: list[int]
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Input and output of every module of one pass, (rows, width), by name."""
    seen: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def keep(name: str) -> Any:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            if torch.is_tensor(output) and output.dim() == 3:
                seen[name] = inputs[0][0], output[0]

        return hook

    hooks = [module.register_forward_hook(keep(name)) for name, module in model.named_modules()]
    with torch.no_grad():
        seen["logits"] = (torch.empty(0), model(torch.tensor([source]), torch.tensor([target]))[0])
    for hook in hooks:
        hook.remove()
    return seen


def work_out(
    name: str, folder: Path, places: list[dict[str, Any]], *, exact: bool = True
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """Return the page's numbers at each place, those of PyTorch, and the engine's own maps."""
    tokenizer, model = vocabulary(), variant(name)
    source = tokenizer.encode("zwei Katzen schlafen und ein Hund läuft")
    written = [*tokenizer.encode("Hund ein und"), tokenizer.eos_id]
    default = {"head": HEAD, "row": 2, "column": None, "component": None, "id": written[2], "layer": LAYER}
    requests: list[dict[str, Any]] = [
        {
            "kind": "work",
            "source": source,
            "target": written,
            "places": [{**default, **one} for one in places],
        },
        {"kind": "replay", "source": source, "target": written[:-1], "complete": True},
    ]
    numbers, maps = in_node(page_parts(model, tokenizer, exact=exact), folder, requests)
    modules = outputs_of(model, [*source, tokenizer.eos_id], [tokenizer.bos_id, *written[:-1]])
    return numbers, modules, maps


def total(step: dict[str, Any]) -> float:
    """The result of the terms that the page writes down."""
    if step["figure"] == "dot":
        sums = sum(product for *_, product in step["shown"]) + step["rest"] + step.get("bias", 0)
        value = sums * step.get("factor", 1)
        return float(max(0, value) if step.get("relu") else value)
    if step["figure"] == "sum":
        return float(step["a"][step["component"]] + step["b"][step["component"]])
    x = step["a"][step["component"]]
    return float((x - step["mean"]) / step["deviation"] * step["gamma"] + step["beta"])


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_step_gives_the_numbers_of_pytorch(name: str, tmp_path: Path) -> None:
    pre = VARIANTS[name].get("norm") == "pre"
    parts = [("encoder", "own", "self_attention"), ("decoder", "cross", "cross_attention")]
    if "SSRU" not in name:
        parts.append(("decoder", "own", "self_attention"))
    steps = ("query", "key", "value", "mix", "project", "add", "norm")
    places = [{"side": side, "part": part, "step": step} for side, part, _ in parts for step in steps]
    networks = [{"side": side, "part": "network", "step": step} for side in ("encoder", "decoder")
                for step in ("norm", "inner", "outer", "add")]  # fmt: skip
    numbers, modules, _ = work_out(name, tmp_path, [*places, *networks])
    for place, step in zip([*places, *networks], numbers, strict=True):
        close(total(step), step["result"][step["component"]])
        layer = f"{place['side']}.layers.{LAYER}"
        names = {"query": "w_q", "mix": "w_o", "project": "w_o"}
        inner = {"inner": "w_1", "outer": "w_2"}
        attention = {part[:2]: part[2] for part in parts}.get((place["side"], place["part"]))
        if place["step"] in inner:
            expected = modules[f"{layer}.feed_forward.{inner[place['step']]}"][1][2]
            close(step["result"], expected.clamp_min(0) if place["step"] == "inner" else expected)
        elif place["step"] in names and attention:
            value = modules[f"{layer}.{attention}.{names[place['step']]}"][place["step"] != "mix"][2]
            width = {"query": len(step["result"]), "mix": len(step["result"])}.get(place["step"])
            close(step["result"], value if width is None else value[HEAD * width : (HEAD + 1) * width])
        elif place["step"] == "norm":
            around = {"own": "attention" if place["side"] == "encoder" else "self"}.get(
                place["part"], place["part"]
            )
            around = "feed_forward" if around == "network" else around
            close(step["result"], modules[f"{layer}.around_{around}.norm"][1][2])
    assert pre == (numbers[0]["route"][1]["step"] == "norm")


@pytest.mark.parametrize("name", VARIANTS)
def test_the_last_step_gives_the_probability_of_the_written_token(name: str, tmp_path: Path) -> None:
    output = {"side": "decoder", "part": "output", "layer": 0}
    steps: list[dict[str, Any]] = [{"step": "logit"}, {"step": "probability"}]
    numbers, modules, maps = work_out(name, tmp_path, [{**output, **step} for step in steps])
    logits = modules["logits"][1][2]
    close(numbers[0]["result"], logits)
    close(total(numbers[0]), logits[maps["ids"][2]])
    place = numbers[1]["component"]
    close(numbers[1]["weights"][place], maps["probabilities"][2])
    close(numbers[1]["powers"][place] / numbers[1]["sum"], logits.softmax(-1)[maps["ids"][2]])


@pytest.mark.parametrize(("exact", "tolerance"), [(True, 1e-5), (False, 2e-3)], ids=["float32", "int8"])
def test_weights_step_by_step_are_those_of_the_map(exact: bool, tolerance: float, tmp_path: Path) -> None:
    name = "post-norm"
    sides = [("encoder", "own", "encoder"), ("decoder", "own", "own"), ("decoder", "cross", "cross")]
    places = [{"side": side, "part": part, "step": "softmax"} for side, part, _ in sides]
    numbers, _, maps = work_out(name, tmp_path, places, exact=exact)
    for step, (side, _, kind) in zip(numbers, sides, strict=True):
        rows, columns = maps["S" if side == "encoder" else "T"], maps["T" if kind == "own" else "S"]
        drawn = np.array(maps[kind]).reshape(2, 5, rows, columns)[LAYER, HEAD, 2]
        np.testing.assert_allclose(step["weights"], drawn[: len(step["weights"])], atol=tolerance)
        exponents = np.exp(np.array(step["scores"]) - step["highest"])
        np.testing.assert_allclose(exponents / step["sum"], step["weights"], atol=1e-5)


def test_a_temperature_divides_the_logits(tmp_path: Path) -> None:
    output = {"side": "decoder", "part": "output", "layer": 0, "step": "probability"}
    (plain, hot), modules, _ = work_out("post-norm", tmp_path, [output, {**output, "temperature": 2}])
    shares = (modules["logits"][1][2] / 2).softmax(-1)
    close(hot["weights"], shares[hot["ids"]])
    assert max(hot["weights"]) < max(plain["weights"])
