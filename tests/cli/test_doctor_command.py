"""`multihead doctor`: the machine, and the engine that searches a run."""

import json
from pathlib import Path

import pytest
from untrained_runs import made

from multihead.cli import main
from multihead.nn import DotProductAttention, FeedForward
from multihead.nn.attention import attention_weights
from multihead.system import native


def test_it_describes_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "torch" in shown
    assert "native" in shown


def test_its_report_can_be_read_by_programs(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert {"python", "torch", "device", "starlette"} <= set(names)
    assert main(["doctor", str(trained), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"name": "run", "text": str(trained)} in rows


def test_it_names_the_engine_of_a_run(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(trained)]) == 0
    shown = capsys.readouterr().out
    assert "transformer, " in shown
    assert ("native kernels" if native.LEVELS else "laid-out layers") in shown
    assert "to ctranslate2" in shown


def test_it_says_why_an_engine_declines(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with native.use(""):
        assert main(["doctor", str(trained)]) == 0
    shown = capsys.readouterr().out
    assert "laid-out layers" in shown
    assert "not native kernels: there are no native kernels here" in shown


def test_a_layer_that_was_edited_in_place_is_reported(
    trained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        DotProductAttention,
        "forward",
        lambda self, q, k, v, allowed=None: attention_weights(q / 3, k, allowed) @ v,
    )
    assert main(["doctor", str(trained)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the model's own steps" in shown
    assert "something that their description does not mention" in shown


def test_a_language_model_that_is_searched_without_its_change_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "gpt", "gpt")
    assert main(["doctor", str(folder)]) == 0
    assert "caution" not in capsys.readouterr().out
    plain = FeedForward.forward
    monkeypatch.setattr(FeedForward, "forward", lambda self, x: plain(self, x + x.roll(1, 1)))
    assert main(["doctor", str(folder)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "training and search compute different probabilities" in shown


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
