"""What the commands do with a trained run."""

import io
import json
import math
import sys
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead.api import load


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> "Typing":
    return Typing(monkeypatch)


class Typing:
    """Puts text into standard input."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch

    def __call__(self, text: str) -> None:
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


# --- translate ----------------------------------------------------------------------------------------


def test_translate_writes_a_line_for_each_line_in_order(
    trained: Path, typed: Typing, capfdbinary: Captured
) -> None:
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


def test_translate_leaves_an_old_file_as_it_is_when_the_input_is_bad(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "in").write_bytes(b"eins\n\xe4\n")
    (tmp_path / "out").write_text("old")
    told = fail(capfdbinary, "translate", trained, "-i", tmp_path / "in", "-o", tmp_path / "out")
    assert f"{tmp_path / 'in'}:2: not UTF-8" in told
    assert (tmp_path / "out").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


def test_translate_writes_to_what_is_no_file(trained: Path, typed: Typing, capfdbinary: Captured) -> None:
    typed("eins\n")
    assert run(capfdbinary, "translate", trained, "-o", "/dev/null")[0] == ""
    assert Path("/dev/null").is_char_device()


def test_translate_writes_where_a_link_leads(
    trained: Path, typed: Typing, tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    typed("eins\n")
    run(capfdbinary, "translate", trained, "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() != "old"
    # A link to what is open already, as /dev/stdout is one: written, not replaced.
    (tmp_path / "standard").symlink_to("/proc/self/fd/1")
    typed("eins\n")
    out, _ = run(capfdbinary, "translate", trained, "-o", tmp_path / "standard")
    assert out == (tmp_path / "target").read_text()
    assert (tmp_path / "standard").is_symlink()


def test_n_best_gives_the_line_number_and_the_score_best_first(
    trained: Path, typed: Typing, capfdbinary: Captured
) -> None:
    typed("eins zwei\n\ndrei\n")
    out, _ = run(capfdbinary, "translate", trained, "--n-best", 3, "--search.beam_size", 3)
    rows = [line.split("\t") for line in out.removesuffix("\n").split("\n")]
    assert [number for number, _, _ in rows] == ["1"] * 3 + ["3"] * 3
    for first in (0, 3):
        scores = [float(score) for _, score, _ in rows[first : first + 3]]
        assert scores == sorted(scores, reverse=True)


def test_scores_stand_before_the_translations(trained: Path, typed: Typing, capfdbinary: Captured) -> None:
    typed("eins zwei\n\n")
    plain, _ = run(capfdbinary, "translate", trained)
    typed("eins zwei\n\n")
    scored, _ = run(capfdbinary, "translate", trained, "--scores")
    rows = [line.split("\t") for line in scored.removesuffix("\n").split("\n")]
    assert [text for _, text in rows] == plain.removesuffix("\n").split("\n")
    assert float(rows[0][0]) < 0


def test_translations_begin_as_they_have_to(
    trained: Path, typed: Typing, tmp_path: Path, capfdbinary: Captured
) -> None:
    typed("eins\nzwei\n")
    out, _ = run(capfdbinary, "translate", trained, "--prefix", "six five")
    assert all(line.startswith("six five") for line in out.removesuffix("\n").split("\n"))
    (tmp_path / "prefixes").write_text("four\n\n")
    typed("eins\nzwei\n")
    out, _ = run(capfdbinary, "translate", trained, "--prefixes", tmp_path / "prefixes")
    assert out.startswith("four")
    typed("eins\nzwei\ndrei\n")
    told = fail(capfdbinary, "translate", trained, "--prefixes", tmp_path / "prefixes")
    assert "2 lines, but more to translate" in told
    typed("eins\n")
    told = fail(capfdbinary, "translate", trained, "--prefixes", tmp_path / "prefixes")
    assert "more lines than the 1 to translate" in told


def test_two_runs_are_an_ensemble(trained: Path, typed: Typing, capfdbinary: Captured) -> None:
    typed("eins zwei drei\n")
    one, _ = run(capfdbinary, "translate", trained)
    typed("eins zwei drei\n")
    assert run(capfdbinary, "translate", trained, trained)[0] == one


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no run folder is named"),
        (["nowhere"], "nowhere: no such run folder"),
        (["RUN", "--beam-sise", "3"], 'unknown option "--beam-sise". Did you mean "--beam-size"?'),
        (["RUN", "--search.beam_sise", "3"], 'Did you mean "search.beam_size"?'),
        (["RUN", "--training.steps", "5"], 'unknown option "--training.steps"'),
        (["RUN", "--beam-size", "none"], "it must be a whole number"),
        (["RUN", "--beam-size", "3", "--n-best", "5"], "n_best 5 is larger than the beam, 3"),
        (["RUN", "--device", "abacus"], 'no device "abacus" here'),
        (["RUN", "-i", "nowhere.de"], "nowhere.de: no such file"),
        (["RUN", "-o", "/nowhere/x"], "/nowhere/x: cannot be written"),
    ],
)
def test_translate_says_what_is_wrong(
    trained: Path, typed: Typing, capfdbinary: Captured, arguments: list[str], told: str
) -> None:
    typed("eins\n")
    assert told in fail(capfdbinary, "translate", *(trained if word == "RUN" else word for word in arguments))


# --- score, evaluate, inspect -------------------------------------------------------------------------


def test_score_gives_a_number_for_each_pair(
    trained: Path, corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured
) -> None:
    out, err = run(capfdbinary, "score", trained, "--src", corpus[0], "--tgt", corpus[1])
    numbers = [float(line) for line in out.removesuffix("\n").split("\n")]
    assert len(numbers) == 216
    assert all(number < 0 for number in numbers)
    assert "216 pairs, 864 pieces" in err
    total = float(err.partition("log-probability ")[2].partition(",")[0])
    assert total == pytest.approx(math.fsum(numbers), abs=0.02)  # each is printed rounded
    per_token, _ = run(
        capfdbinary,
        "score",
        trained,
        "--src",
        corpus[0],
        "--tgt",
        corpus[1],
        "--per-token",
        "-o",
        tmp_path / "x",
    )
    assert per_token == ""
    first = float((tmp_path / "x").read_text().split("\n")[0])
    assert first == pytest.approx(numbers[0] / 4, abs=1e-4)


def test_score_refuses_files_of_different_length(
    trained: Path, corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "short").write_text("one\n")
    capfdbinary.readouterr()
    out = tmp_path / "numbers"
    arguments = ["score", trained, "--src", corpus[0], "--tgt", tmp_path / "short", "-o", out]
    assert "216 lines, but" in fail(capfdbinary, *arguments)
    assert not out.exists()


def test_score_reads_what_the_run_was_trained_on(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"de": "eins zwei drei", "en": "three two one"}\n')
    keys = ["--data.source_field", "de", "--data.target_field", "en"]
    out, _ = run(capfdbinary, "score", trained, "--src", pairs, *keys)
    assert float(out) < 0
    assert "data.source_field" in fail(capfdbinary, "score", trained, "--src", pairs)


def test_evaluate_takes_no_target_without_its_source(trained: Path, capfdbinary: Captured) -> None:
    assert "--tgt without --src" in fail(capfdbinary, "evaluate", trained, "--tgt", "nowhere.en")


def test_evaluate_measures_the_recipes_test_sets(trained: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "evaluate", trained)
    assert f"{trained} on held_out: 216 pairs" in out
    assert "nrefs:1|case:mixed" in out
    assert "216 of these sentences occur in the training data" not in out or "caution" in out
    told = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])
    assert told["held_out"]["pairs"] == 216
    assert {"bleu", "bleu_lowercase", "chrf", "perplexity", "signature"} <= told["held_out"].keys()


def test_evaluate_prints_signatures_whole(
    trained: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out, _ = run(capfdbinary, "evaluate", trained)
    told = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])["held_out"]
    lines = out.split("\n")
    for name in ("signature", "signature_lowercase", "signature_chrf"):
        assert f"    {told[name]}" in lines
    assert lines == [line.rstrip() for line in lines]


def test_evaluate_compares_two_runs(
    trained: Path, corpus: tuple[Path, Path], capfdbinary: Captured, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.symlink_to(trained)
    files = ["--src", corpus[0], "--tgt", corpus[1]]
    out, _ = run(capfdbinary, "evaluate", trained, other, *files)
    assert f"train.de: {other} against {trained}" in out
    assert "may be chance" in out
    told = json.loads(run(capfdbinary, "evaluate", trained, other, *files, "--json")[0])
    assert told["comparison"]["train.de"]["bleu"]["p_value"] == 1.0
    assert told["runs"].keys() == {str(trained), str(other)}


def test_evaluate_measures_an_ensemble(
    trained: Path, training: list[str], capfdbinary: Captured, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    run(capfdbinary, *training, "--run", other, "--training.seed", 2)

    def perplexity(*words: object) -> float:
        told = json.loads(run(capfdbinary, "evaluate", *words, "--json", "--precision", "fp32")[0])
        return float(told["held_out"]["perplexity"])

    alone = [perplexity(trained), perplexity(other)]
    assert perplexity(trained, trained, trained, "--ensemble") == alone[0]
    # The logarithm of a mean is no less than the mean of logarithms.
    assert perplexity(trained, other, "--ensemble") < math.sqrt(alone[0] * alone[1])
    out, _ = run(capfdbinary, "evaluate", trained, other, "--ensemble")
    assert f"{trained} + {other} on held_out: 216 pairs" in out
    told = fail(capfdbinary, "evaluate", trained, other, trained)
    assert "3 runs are named. Name one, or two to be compared, or measure them together: --ensemble" in told


def test_inspect_draws_in_the_terminal_or_into_a_file(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(capfdbinary, "inspect", trained, "eins zwei", "--target", "two one")
    header, *rows = out.split("\n")
    assert header.split() == ["eins", "zwei"]
    assert [row.split()[0] for row in rows[:2]] == ["two", "one"]
    run(capfdbinary, "inspect", trained, "eins", "--target", "one", "-o", tmp_path / "map.svg")
    assert "<svg" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "there is no layer 7" in fail(
        capfdbinary, "inspect", trained, "eins", "--target", "one", "--layer", 7
    )


def test_inspect_checks_the_names_of_its_files_first(capfdbinary: Captured) -> None:
    told = fail(capfdbinary, "inspect", "nowhere", "eins", "-o", "map.xyz")
    assert "map.xyz: the name does not say which kind of file to write" in told
    assert ".html" in told
    assert "End it with .svg, .png or .pdf." in fail(
        capfdbinary, "inspect", "nowhere", "eins", "--png", "a.html"
    )


def test_inspect_writes_a_page_its_numbers_and_a_picture(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    page, numbers, picture = tmp_path / "page.html", tmp_path / "numbers.json", tmp_path / "map.png"
    asked = ("inspect", trained, "eins zwei", "--target", "two one")
    run(capfdbinary, *asked, "-o", page, "--json", numbers, "--png", picture)
    assert "eins zwei" in page.read_text(encoding="utf-8")
    assert json.loads(numbers.read_text(encoding="utf-8"))["hypotheses"][0]["attention"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "eins zwei" in load(trained).inspect("eins zwei")._repr_html_()
