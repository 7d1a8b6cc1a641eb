"""Content of the page: packed weights, the inputs of the equation, the beam; text is always escaped."""

import base64
import gzip
import json
import re
import tomllib
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_translators import HOSTILE, hostile, small_translator

from multihead.errors import UserError
from multihead.inspect.maps import AlignmentHead
from multihead.inspect.page import equation, html, make_page, packing
from multihead.inspect.page.limits import MAX_TOKENS
from multihead.tasks.translation import page as translation
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.page import Exploration, explore, numbers_as_json


@pytest.fixture(scope="module")
def translator() -> Translator:
    return small_translator()


@pytest.fixture(scope="module")
def explored(translator: Translator) -> Exploration:
    return explore(translator, "zwei Hunde laufen .", name="runs/two")


def unpacked(layer: dict[str, Any]) -> Any:
    raw = np.frombuffer(base64.b64decode(layer["weights"]), np.uint8).reshape(
        layer["heads"], layer["queries"], layer["keys"]
    )
    return (raw / 255) ** 2


@given(st.floats(0, 1, width=32))
def test_a_packed_weight_is_within_the_documented_error(weight: float) -> None:
    [byte] = base64.b64decode(packing.weights(np.array([weight], np.float32)))
    assert abs((byte / 255) ** 2 - weight) <= weight**0.5 / 255 + 1e-5


def test_the_page_contains_all_layers_and_heads(explored: Exploration) -> None:
    layers = explored.content["hypotheses"][0]["layers"]
    assert {(one["kind"], one["layer"]) for one in layers} == {
        (kind, layer) for kind in ("cross", "decoder self", "encoder self") for layer in (1, 2)
    }
    recorded = {(one.kind, one.layer): one for one in explored.recordings[0].records}
    for one in layers:
        weights = recorded[one["kind"], one["layer"]].sentence(0)
        np.testing.assert_allclose(unpacked(one), weights, atol=0.004)
        assert one["allowed"] == ("causal" if one["kind"] == "decoder self" else None)


def test_entropy_and_distance_are_computed_from_the_weights(explored: Exploration) -> None:
    record = next(one for one in explored.recordings[0].records if one.kind == "encoder self")
    layer = next(one for one in explored.content["hypotheses"][0]["layers"] if one["kind"] == "encoder self")
    for head, measured in zip(record.sentence(0), layer["measures"], strict=True):
        entropy = [-sum(p * np.log2(p) for p in row if p > 0) for row in head]
        distance = [sum(p * abs(i - j) for j, p in enumerate(row)) for i, row in enumerate(head)]
        assert measured["entropy"] == pytest.approx(np.mean(entropy), abs=0.006)
        assert measured["distance"] == pytest.approx(np.mean(distance), abs=0.006)


def test_every_hypothesis_has_its_own_attention(explored: Exploration) -> None:
    shown = explored.content["hypotheses"]
    assert len(shown) == 3
    assert len({tuple(one["ids"]) for one in shown}) == 3
    for one, recording in zip(shown, explored.recordings, strict=True):
        cross = next(layer for layer in one["layers"] if layer["kind"] == "cross")
        recorded = next(record for record in recording.records if record.kind == "cross")
        np.testing.assert_allclose(unpacked(cross), recorded.sentence(0), atol=0.004)
    assert all(layer["kind"] != "encoder self" for one in shown[1:] for layer in one["layers"])


def test_every_hypothesis_is_a_path_in_the_tree_with_its_score(explored: Exploration) -> None:
    steps = explored.content["tree"]["steps"]
    for one in explored.content["hypotheses"]:
        row, total = 0, 0.0
        for step, token in enumerate(one["ids"]):
            [branch] = [b for b in steps[step] if b["parent"] == row and b["id"] == token]
            assert branch["fate"] != "pruned"
            assert branch["sum"] <= total
            row, total = branch["row"], branch["sum"]
        assert branch["fate"] in ("finished", "cut")
        assert total == pytest.approx(one["sum"], abs=1e-3)
    for branches in steps:
        kept = [b["sum"] for b in branches if b["fate"] != "pruned"]
        assert all(a >= b for a, b in pairwise(kept))


def test_the_embedded_queries_and_keys_give_the_weights_of_their_head(explored: Exploration) -> None:
    assert len(explored.content["numbers"]) == 6 * 3
    assert explored.content["numbers"][0]["layer"] == explored.content["start"]["layer"]
    records = {(one.kind, one.layer): one for one in explored.recordings[0].records}
    for numbers in explored.content["numbers"]:
        q, k = (
            np.frombuffer(base64.b64decode(numbers[name]), "<f4").reshape(-1, numbers["d_k"]) for name in "qk"
        )
        record = records[numbers["kind"], numbers["layer"]]
        exponent = np.exp(q @ k.T * numbers["scale"])
        if record.allowed_BHQK is not None:
            exponent *= record.allowed_BHQK[0, 0, : len(q), : len(k)]
        weights = record.sentence(0)[numbers["head"] - 1]
        np.testing.assert_allclose(exponent / exponent.sum(1, keepdims=True), weights, atol=1e-4)
        assert numbers["scale"] == pytest.approx(8**-0.5)


def test_the_chosen_head_is_embedded_first_and_others_as_far_as_there_is_room(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def heads(**options: Any) -> tuple[list[tuple[str, int, int]], int]:
        content = explore(translator, "zwei Hunde", choice=AlignmentHead(2, 3), **options).content
        order = [(one["kind"], one["layer"], one["head"]) for one in content["numbers"]]
        return order, content["numbers_left_out"]

    order, left_out = heads()
    assert order[:4] == [("cross", 2, 3), ("cross", 2, 1), ("cross", 2, 2), ("cross", 1, 1)]
    assert (len(set(order)), left_out) == (18, 0)
    monkeypatch.setattr(equation, "MAX_BYTES", 0)
    assert heads() == ([("cross", 2, 3)], 17)
    assert heads(full=True) == (order, 0)


def test_neighbours_have_the_largest_cosine_similarity(translator: Translator, explored: Exploration) -> None:
    tokenizer = translator.source_tokenizer
    token = tokenizer.encode("zwei")[0]
    table = translator.models[0].get_parameter("source_embedding.weight").detach().numpy()
    unit = table[: tokenizer.vocab_size] / np.linalg.norm(table[: tokenizer.vocab_size], axis=1)[:, None]
    cosines = unit @ unit[token]
    cosines[token] = -1
    nearest = explored.content["neighbours"]["source"][0]["nearest"]
    assert nearest[0]["text"] == tokenizer.piece(int(cosines.argmax()))
    assert nearest[0]["cosine"] == pytest.approx(cosines.max(), abs=1e-3)


def test_a_given_translation_is_shown_before_the_models_own(translator: Translator) -> None:
    found = explore(translator, "zwei Hunde", "two dogs")
    first, second, *_ = found.content["hypotheses"]
    assert (first["text"], first["score"]) == ("two dogs", None)
    assert first["sum"] == pytest.approx(translator.score([("zwei Hunde", "two dogs")])[0].log_probability)
    assert second["score"] is not None


def test_an_empty_translation_can_be_shown(translator: Translator) -> None:
    assert explore(translator, "zwei Hunde", "").content["hypotheses"][0]["text"] == ""


@pytest.mark.parametrize("choice", [AlignmentHead(layer=7), AlignmentHead(head=4)])
def test_a_missing_layer_or_head_is_a_user_error(translator: Translator, choice: AlignmentHead) -> None:
    with pytest.raises(UserError, match="there is no"):
        explore(translator, "zwei", choice=choice)


def test_a_page_of_a_long_sentence_names_the_omitted_tokens(translator: Translator) -> None:
    text = "Hund " * (MAX_TOKENS + 7)
    found = explore(translator, text, "dog")
    text_of_phrase = "the source after its first {} of {} tokens"
    assert [part[:2] for part in found.content["omitted"]] == [[text_of_phrase, MAX_TOKENS]]
    assert len(found.content["source"]["pieces"]) == MAX_TOKENS
    shapes = [(one["queries"], one["keys"]) for one in found.content["hypotheses"][0]["layers"]]
    assert max(map(max, shapes)) == MAX_TOKENS
    assert len(explore(translator, text, "dog", full=True).content["source"]["pieces"]) > MAX_TOKENS


def test_hypotheses_beyond_the_size_limit_are_listed_without_attention(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation, "MAX_OTHER_BYTES", 0)
    found = explore(translator, "zwei Hunde")
    assert [one["layers"] is None for one in found.content["hypotheses"]] == [False, True, True]
    assert found.content["omitted"] == [["the attention of {} hypotheses", 2]]
    assert len(json.loads(numbers_as_json(found))["hypotheses"]) == len(found.recordings) == 1


def test_thirty_tokens_on_six_and_six_layers_take_less_than_two_megabytes() -> None:
    large = small_translator(num_layers=6, num_heads=8, d_model=512)
    found = explore(large, " ".join(["Hund"] * 30), " ".join(["dog"] * 30))
    assert len(found.recordings[0].source.pieces) > 30
    assert found.content["omitted"] == []
    assert len(make_page(found).html.encode()) < 2_000_000


def test_hostile_text_stays_inside_its_element(explored: Exploration) -> None:
    page = make_page(hostile(explored)).html
    assert "<script>window.hacked" not in page
    assert "\u2028" not in page
    assert page.count("</script>") == 2
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert "<" not in data
    assert [token["text"] for token in json.loads(data)["source"]["pieces"]] == HOSTILE


def test_a_page_loads_nothing_from_the_network(explored: Exploration) -> None:
    page = make_page(explored).html
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}


def test_an_installed_package_contains_all_page_assets() -> None:
    root = Path(html.__file__).parents[2]
    settings = tomllib.loads((root.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["multihead"]
    packed = {path for pattern in patterns for path in root.glob(pattern)}
    kinds = (".js", ".css", ".html", ".json")
    assets = {path for path in (root / "inspect").rglob("*") if path.suffix in kinds}
    pages = {"page.html", "page.css", "scroll.css", "page.ko.json", *html.SCRIPTS}
    made = {path.name for path in assets if "live" not in path.parts}
    assert made == {*pages, "report.css", "report.js", "report.ko.json"}
    assert assets <= packed


def test_a_notebook_shows_the_same_page_in_an_iframe(explored: Exploration) -> None:
    page = make_page(explored)
    [inside] = re.findall(r'srcdoc="([^"]*)"', page._repr_html_())
    [packed] = re.findall(r'atob\("([^"]*)"\)', unescape(inside))
    assert gzip.decompress(base64.b64decode(packed)).decode() == page.html


def test_all_weights_are_exported_as_json(explored: Exploration) -> None:
    listed = json.loads(numbers_as_json(explored))
    assert len(listed["hypotheses"]) == 3
    for one, recording in zip(listed["hypotheses"], explored.recordings, strict=True):
        for layer, record in zip(one["attention"], recording.records, strict=True):
            np.testing.assert_allclose(layer["weights"], record.sentence(0), atol=1e-6)
