"""The command ``multihead translate``."""

import io
import sys
from pathlib import Path

import pytest
from capitals import capital_translator
from command_line import Captured, fail, run

from multihead.cli import main, translate
from multihead.cli._translating_lines import BySentence
from multihead.recipe.settings import SearchSettings
from multihead.text.lines import read_lines


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> "StandardInput":
    return StandardInput(monkeypatch)


class StandardInput:
    """Replaces standard input by a text."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch

    def __call__(self, text: str) -> None:
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_marks_of_lists_and_indentation_stay() -> None:
    lines = ["  - ein Hund", "12. ein Hund", "\tein Hund", "✓ ein Hund → eine Katze", "<ph14> ein Hund", "  "]
    translate = BySentence(capital_translator(), SearchSettings(), None, sentences=True)
    assert [translation.text for translation in translate(lines, [], 0)] == [
        "  - EIN HUND",
        "12. EIN HUND",
        "\tEIN HUND",
        "✓ EIN HUND → EINE KATZE",
        "<ph14> EIN HUND",
        "",
    ]


def test_each_line_is_translated_in_order(trained: Path, typed: StandardInput, capfdbinary: Captured) -> None:
    lines = ["eins", "", "zwei drei vier fünf sechs", "drei\u2028vier", "   ", "eins"]
    typed("".join(f"{line}\n" for line in lines))
    out, err = run(capfdbinary, "translate", trained)
    translated = out.split("\n")
    assert len(translated) == len(lines) + 1
    assert translated[-1] == ""
    assert translated[1] == translated[4] == ""
    assert translated[0] == translated[5]
    each = []
    for line in lines:
        typed(line + "\n")
        each.append(run(capfdbinary, "translate", trained)[0].removesuffix("\n"))
    assert translated[:-1] == each
    assert "Traceback" not in err


def test_translate_reads_and_writes_files(
    trained: Path, corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(capfdbinary, "translate", trained, "-i", corpus[0], "--beam-size", 2)
    assert (
        run(capfdbinary, "translate", trained, "-i", corpus[0], "-o", tmp_path / "x", "--beam-size=2")[0]
        == ""
    )
    assert (tmp_path / "x").read_text(encoding="utf-8") == out
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("packed", ["out.en.gz", "out.en.xz", "out.en.zst"])
def test_the_file_extension_chooses_the_compression(
    trained: Path, tmp_path: Path, capfdbinary: Captured, packed: str
) -> None:
    (tmp_path / "in.de").write_text("eins zwei\n\nsechs\n", encoding="utf-8")
    plain, _ = run(capfdbinary, "translate", trained, "-i", tmp_path / "in.de")
    for out in (tmp_path / packed, tmp_path / f"again.{packed}"):
        run(capfdbinary, "translate", trained, "-i", tmp_path / "in.de", "-o", out)
    assert "".join(f"{line}\n" for line in read_lines(str(tmp_path / packed))) == plain
    assert (tmp_path / packed).read_bytes() == (tmp_path / f"again.{packed}").read_bytes()


@pytest.mark.parametrize("named", ["text", "./text", "link"])
def test_an_input_file_is_never_overwritten(
    trained: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("eins\n")
    (tmp_path / "link").symlink_to("text")
    for read in ("-i", "--prefixes"):
        error = fail(capfdbinary, "translate", trained, read, "text", "-o", named)
        assert "the output would overwrite an input file" in error
    assert (tmp_path / "text").read_text() == "eins\n"


def test_invalid_input_leaves_an_existing_output_file_unchanged(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "in").write_bytes(b"eins\n\xe4\n")
    (tmp_path / "out").write_text("old")
    error = fail(capfdbinary, "translate", trained, "-i", tmp_path / "in", "-o", tmp_path / "out")
    assert f"{tmp_path / 'in'}:2: not UTF-8" in error
    assert (tmp_path / "out").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


def test_translate_writes_to_a_device(trained: Path, typed: StandardInput, capfdbinary: Captured) -> None:
    typed("eins\n")
    assert run(capfdbinary, "translate", trained, "-o", "/dev/null")[0] == ""
    assert Path("/dev/null").is_char_device()


def test_circular_links_are_a_user_error(
    trained: Path, typed: StandardInput, tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    typed("eins\n")
    assert "circular symbolic links" in fail(capfdbinary, "translate", trained, "-o", tmp_path / "a")


def test_translate_writes_to_the_target_of_a_link(
    trained: Path, typed: StandardInput, tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    typed("eins\n")
    run(capfdbinary, "translate", trained, "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() != "old"
    # A link to an open file, such as /dev/stdout, is written and not replaced.
    (tmp_path / "standard").symlink_to("/proc/self/fd/1")
    typed("eins\n")
    out, _ = run(capfdbinary, "translate", trained, "-o", tmp_path / "standard")
    assert out == (tmp_path / "target").read_text()
    assert (tmp_path / "standard").is_symlink()


def test_n_best_writes_line_number_score_and_translation_best_first(
    trained: Path, typed: StandardInput, capfdbinary: Captured
) -> None:
    typed("eins zwei\n\ndrei\n")
    out, _ = run(capfdbinary, "translate", trained, "--n-best", 3, "--search.beam_size", 3)
    rows = [line.split("\t") for line in out.removesuffix("\n").split("\n")]
    assert [number for number, _, _ in rows] == ["1"] * 3 + ["3"] * 3
    for first in (0, 3):
        scores = [float(score) for _, score, _ in rows[first : first + 3]]
        assert scores == sorted(scores, reverse=True)


def test_scores_are_written_before_the_translations(
    trained: Path, typed: StandardInput, capfdbinary: Captured
) -> None:
    typed("eins zwei\n\n")
    plain, _ = run(capfdbinary, "translate", trained)
    typed("eins zwei\n\n")
    scored, _ = run(capfdbinary, "translate", trained, "--scores")
    rows = [line.split("\t") for line in scored.removesuffix("\n").split("\n")]
    assert [text for _, text in rows] == plain.removesuffix("\n").split("\n")
    assert float(rows[0][0]) < 0


def test_translations_start_with_their_prefix(
    trained: Path,
    typed: StandardInput,
    tmp_path: Path,
    capfdbinary: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed("eins\nzwei\n")
    out, _ = run(capfdbinary, "translate", trained, "--prefix", "six five")
    assert all(line.startswith("six five") for line in out.removesuffix("\n").split("\n"))
    (tmp_path / "prefixes").write_text("four\n\n")
    typed("eins\nzwei\n")
    out, _ = run(capfdbinary, "translate", trained, "--prefixes", tmp_path / "prefixes")
    assert out.startswith("four")
    typed("eins\nzwei\ndrei\n")
    error = fail(capfdbinary, "translate", trained, "--prefixes", tmp_path / "prefixes")
    assert "2 lines, fewer than the input" in error
    typed("eins\n")
    error = fail(capfdbinary, "translate", trained, "--prefixes", tmp_path / "prefixes")
    assert "more lines than the 1 of the input" in error
    monkeypatch.setattr(translate, "CHUNK", 1)  # the last chunk is then full
    typed("eins\n")
    assert main(["translate", str(trained), "--prefixes", str(tmp_path / "prefixes")]) == 2
    assert b"more lines than the 1 of the input" in capfdbinary.readouterr()[1]


def test_two_runs_form_an_ensemble(trained: Path, typed: StandardInput, capfdbinary: Captured) -> None:
    typed("eins zwei drei\n")
    one, _ = run(capfdbinary, "translate", trained)
    typed("eins zwei drei\n")
    assert run(capfdbinary, "translate", trained, trained)[0] == one


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "is missing"),
        (["nowhere"], "nowhere: no such run folder"),
        (["RUN", "--beam-sise", "3"], 'unknown option "--beam-sise". Did you mean "--beam-size"?'),
        (["RUN", "--search.beam_sise", "3"], 'Did you mean "--search.beam_size"?'),
        (["RUN", "--training.steps", "5"], 'unknown option "--training.steps"'),
        (["RUN", "--beam-size", "none"], "it must be an integer"),
        (["RUN", "--beam-size", "3", "--n-best", "5"], "n_best 5 is larger than the beam, 3"),
        (["RUN", "--device", "abacus"], 'device "abacus" is not available'),
        (["RUN", __file__], "a file, but no document that is known. Documents end in .txt"),
        (["RUN", "-i", "nowhere.de"], "nowhere.de: no such file"),
        (["RUN", "-o", "/nowhere/x"], "/nowhere/x: cannot be written"),
    ],
)
def test_invalid_input_is_a_user_error(
    trained: Path, typed: StandardInput, capfdbinary: Captured, arguments: list[str], error: str
) -> None:
    typed("eins\n")
    assert error in fail(
        capfdbinary, "translate", *(trained if word == "RUN" else word for word in arguments)
    )
