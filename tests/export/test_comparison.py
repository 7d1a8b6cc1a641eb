"""The comparison of an export with its run, and the script in its folder."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from multihead.apps.export import comparison, ctranslate2
from multihead.apps.export.comparison import NAME, Agreement, _agreement, _faults, compare, sentences_of
from multihead.errors import UserError
from multihead.run import Run
from multihead.tasks.translation.lines import Output, Translation, Translator

RUN = Path(__file__).parents[1] / "fixtures" / "run-0.1.0"
LINES = ["eins zwei drei", "", "vier"]


@pytest.fixture(scope="module", autouse=True)
def few_sentences() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "SENTENCES", 43)
        yield


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    folder = tmp_path_factory.mktemp("export") / "float32"
    ctranslate2.export(Run.open(RUN), folder)
    return folder


def test_the_script_in_the_folder_gives_the_run_s_translations_without_multihead(exported: Path) -> None:
    program = "import sys; sys.modules['multihead'] = sys.modules['torch'] = None; "
    program += f"import runpy; runpy.run_path({str(exported / 'translate.py')!r}, run_name='__main__')"
    text = "\n".join(LINES) + "\n"
    found = subprocess.run(
        [sys.executable, "-c", program], input=text.encode(), capture_output=True, check=True
    ).stdout.decode()
    translator = Translator.load(RUN, device="cpu", precision="fp32")
    ours = translator.translate(LINES, translator.settings.model_copy(update={"replace_unknown": False}))
    assert found == "".join(f"{one.text}\n" for one in ours)


def test_what_was_found_stands_in_the_folder(exported: Path) -> None:
    found = json.loads((exported / NAME).read_text())
    assert found["greedy"]["same"] == found["sentences"] > 30
    assert found["beam"]["worse"] == found["settings"]["worse"] == 0
    assert found["faults"] == []


class Wrong:
    """A runtime that leaves the last word out."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def search(
        self, lines: Sequence[str], beam_size: int | None, length_penalty: float | None
    ) -> list[tuple[str, float]]:
        return [(one.text.rpartition(" ")[0], -100.0) for one in self._translator.translate(lines)]


def test_another_model_is_found_out() -> None:
    run = Run.open(RUN)
    found = compare(run, Wrong(Translator.load(RUN, device="cpu", precision="fp32")), "float32")
    assert any(fault.startswith("greedy: ") for fault in found.faults)


def test_an_export_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    wrong = Wrong(Translator.load(RUN, device="cpu", precision="fp32"))
    monkeypatch.setattr(ctranslate2, "add_script", lambda *_: wrong)
    with pytest.raises(UserError, match="translations differ from those of the run"):
        ctranslate2.export(Run.open(RUN), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_quantization_may_lose_a_little_bleu() -> None:
    agreement = {"beam": Agreement(same=90, worse=10, bleu=(30.0, 29.75))}
    assert _faults(agreement, "int8", 0.3) == []
    assert _faults(agreement, "int8", 0.2) == ["beam: 0.25 BLEU lost"]
    assert _faults(agreement, "float32", 0.3) == ["beam: 10 of 100 translations differ from those of the run"]


def test_a_better_translation_is_no_fault_and_a_cut_one_cannot_be_compared() -> None:
    def one(text: str, score: float, *, cut: bool = False) -> Translation:
        return Translation(text, "", (Output(text, (1,), score, score, cut=cut),))

    ours = [one("a", -1.0), one("b", -2.0), one("c", -2.0), one("d", -2.0, cut=True)]
    theirs = [("a", -1.0), ("x", -1.5), ("y", -2.5), ("z", -1.0)]
    assert _agreement(ours, theirs, ["a b", "b", "c", "d"]) == Agreement(1, 1, 1, 1, bleu=(0.0, 0.0))


def test_sentences_are_made_from_the_vocabulary_where_the_data_are_gone() -> None:
    lines, references, origin = sentences_of(Run.open(RUN))
    assert origin == "its vocabulary"
    assert references == []
    assert len(set(lines)) > 30
    assert lines == sentences_of(Run.open(RUN))[0]
