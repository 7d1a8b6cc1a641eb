"""`multihead verify`: exit codes, the table, what to do; and a run folder that version 0.1.0 has made."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch
from command_line import Captured, fail, run

from multihead.cli import main
from multihead.run import Run, tensors
from multihead.run.verify import checksums

OLD = Path(__file__).parents[1] / "fixtures" / "run-0.1.0"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the run of version 0.1.0."""
    return Path(shutil.copytree(OLD, tmp_path / "old"))


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    """A copy of a run of this version."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def table(out: str) -> dict[str, str]:
    """Return the state of each file."""
    rows = [line.rstrip().rsplit("  ", 1) for line in out.split("\n") if line]
    return {file.strip(): state.strip() for file, state in rows}


def verify(capture: Captured, *arguments: object) -> tuple[int, dict[str, str], str]:
    """Return exit code, table and messages."""
    capture.readouterr()
    code = main(["verify", *map(str, arguments)])
    out, err = capture.readouterr()
    return code, table(out.decode()), err.decode()


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


# --- a run of this version --------------------------------------------------------------------------


def test_metrics_cut_at_the_end_of_a_line_are_noticed(copied: Path, capfdbinary: Captured) -> None:
    path = copied / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"validation"' in line)
    path.write_bytes(b"".join(lines[:last]))
    code, states, said = verify(capfdbinary, copied)
    assert (code, states["metrics.jsonl"]) == (1, "damaged")
    assert "metrics.jsonl: damaged: cut at the end of a line: the validation at step 12 is missing" in said


def test_a_run_without_its_environment_is_one_line(copied: Path, capfdbinary: Captured) -> None:
    (copied / "environment.json").unlink()
    pairs = copied.parent / "pairs.tsv"
    pairs.write_text("a b\tb c\n")
    for command in (["doctor", copied], ["evaluate", copied, "--src", pairs]):
        assert main([*map(str, command)]) == 2
        (line,) = capfdbinary.readouterr().err.decode().splitlines()
        assert line.startswith(f"multihead: {copied}/environment.json: missing")


def test_a_whole_run_is_whole(trained: Path, capfdbinary: Captured) -> None:
    code, states, said = verify(capfdbinary, trained)
    assert (code, said) == (0, "")
    assert states.pop("samples.txt") == states.pop("report.html") == states.pop("curves.svg") == "not covered"
    assert set(states.values()) == {"whole"}
    assert states.keys() >= {"manifest.json", "recipe.toml", "model.safetensors", "metrics.jsonl"}


@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        ("recipe.toml", "multihead verify RUN --write"),
        ("model.safetensors", "`multihead train` with the same settings writes it again"),
        ("checkpoints/best.safetensors", "The final weights are chosen without it"),
        ("checkpoints/state-0000000012.safetensors", "Training resumes from an older state"),
        ("metrics.jsonl", "Reports leave these lines out"),
    ],
)
def test_a_damaged_file_is_named_with_what_to_do(
    copied: Path, capfdbinary: Captured, file: str, remedy: str
) -> None:
    flip(copied / file)
    code, states, said = verify(capfdbinary, copied)
    assert code == 1
    assert [name for name, state in states.items() if state == "damaged"] == [file]
    assert said.startswith(f"{file}: damaged")
    assert said.count("damaged") == 1
    assert remedy in " ".join(said.split())


def test_a_missing_file_is_named(copied: Path, capfdbinary: Captured) -> None:
    missing = ["environment.json", "model.safetensors", "checkpoints/weights-0000000006.safetensors"]
    for name in missing:
        (copied / name).unlink()
    code, states, _ = verify(capfdbinary, copied)
    assert code == 1
    assert {name for name, state in states.items() if state == "missing"} == set(missing)


def test_what_is_no_run_is_an_error(tmp_path: Path, capfdbinary: Captured) -> None:
    assert "not a run folder" in fail(capfdbinary, "verify", tmp_path)
    assert "not a run folder" in fail(capfdbinary, "verify", tmp_path / "nowhere")


def test_a_recipe_changed_on_purpose_is_accepted_when_asked_to(copied: Path, capfdbinary: Captured) -> None:
    recipe = copied / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("beam_size = 5", "beam_size = 3"))
    assert "altered" in fail(capfdbinary, "score", copied, "--src", recipe, "--tgt", recipe)
    assert verify(capfdbinary, copied)[0] == 1
    assert verify(capfdbinary, copied, "--write")[0] == 0
    assert Run.open(copied).recipe.search.beam_size == 3


def test_damage_cannot_be_accepted(copied: Path, capfdbinary: Captured) -> None:
    manifest = (copied / "manifest.json").read_bytes()
    flip(copied / "checkpoints" / "best.safetensors")
    code, _, said = verify(capfdbinary, copied, "--write")
    assert code == 1
    assert "best.safetensors: damaged" in said
    (copied / "recipe.toml").write_text("[model\n")
    (copied / "checkpoints" / "best.safetensors").unlink()
    assert verify(capfdbinary, copied, "--write")[0] == 1
    assert (copied / "manifest.json").read_bytes() == manifest


def test_a_lost_manifest_is_missed_and_written_again(copied: Path, capfdbinary: Captured) -> None:
    before = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").unlink()
    assert "manifest.json: missing" in fail(capfdbinary, "translate", copied)
    assert verify(capfdbinary, copied)[1]["manifest.json"] == "missing"
    assert verify(capfdbinary, copied, "--write")[0] == 0
    after = json.loads((copied / "manifest.json").read_text())
    assert after["files"] == before["files"]


def test_the_manifest_holds_what_sha256sum_prints(trained: Path) -> None:
    manifest = json.loads((trained / "manifest.json").read_text())
    for name, entry in manifest["files"].items():
        content = (trained / name).read_bytes()
        assert entry == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    described = json.loads((trained / "model.json").read_text())
    assert manifest["tokenizers"] == list(dict.fromkeys(described["tokenizers"]))


# --- a run of version 0.1.0 --------------------------------------------------------------------------


def test_a_run_without_checksums_opens_and_is_said_to_have_none(old: Path, capfdbinary: Captured) -> None:
    assert run(capfdbinary, "score", old, "--src", source(old), "--tgt", source(old))[0]
    code, states, said = verify(capfdbinary, old)
    assert code == 0
    assert states.pop("samples.txt") == "not covered"
    assert set(states.values()) == {"no checksum"}
    assert "--write adds them" in said
    assert checksums(old).startswith("no checksums")
    assert "no checksums" in " ".join(run(capfdbinary, "doctor", old)[0].split())


def source(folder: Path) -> Path:
    (folder.parent / "source").write_text("eins zwei drei\n", encoding="utf-8")
    return folder.parent / "source"


def test_checksums_are_added_and_change_nothing_else(old: Path, capfdbinary: Captured) -> None:
    arguments = ("score", old, "--src", source(old), "--tgt", source(old))
    before = run(capfdbinary, *arguments)[0]
    names = sorted(path.relative_to(OLD) for path in OLD.rglob("*.safetensors"))
    code, states, said = verify(capfdbinary, old, "--write")
    assert (code, said) == (0, "")
    assert states.pop("samples.txt") == "not covered"
    assert set(states.values()) == {"whole"}
    assert run(capfdbinary, *arguments)[0] == before
    for name in names:
        (one, meta), (other, other_meta) = tensors.load(OLD / name), tensors.load(old / name)
        assert meta == other_meta
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    assert list(Run(old).metrics()) == list(Run(OLD).metrics())
    assert checksums(old).startswith("SHA-256")
    for path in (old / "recipe.toml", old / "tokenizer.json", old / "model.safetensors"):
        whole = path.read_bytes()
        flip(path)
        assert verify(capfdbinary, old)[0] == 1
        path.write_bytes(whole)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 6.6e36])
def test_absurd_weights_are_seen_without_a_checksum_too(
    old: Path, capfdbinary: Captured, value: float
) -> None:
    path = old / "model.safetensors"
    weights, _ = tensors.load(path)
    name = next(name for name in sorted(weights) if "w_q" in name)
    content = bytearray(path.read_bytes())
    place = content.index(weights[name].numpy().tobytes())
    content[place : place + 4] = torch.tensor([value]).numpy().tobytes()
    path.write_bytes(content)
    assert name in fail(capfdbinary, "translate", old)
    assert verify(capfdbinary, old)[1]["model.safetensors"] == "damaged"


def test_a_run_without_checksums_is_resumed(
    old: Path, corpus: tuple[Path, Path], capfdbinary: Captured
) -> None:
    """Its last step is missing: the state is there, the model is not."""
    before = tensors.load(old / "model.safetensors")[0]
    (old / "model.safetensors").unlink()
    metrics = old / "metrics.jsonl"
    metrics.write_text("".join(line for line in metrics.open() if '"end"' not in line))
    keys = ("--data.dir", corpus[0].parent, "--data.cache", old.parent / "cache")
    run(capfdbinary, "train", old / "recipe.toml", "--run", old, *keys)
    after = tensors.load(old / "model.safetensors")[0]
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert verify(capfdbinary, old)[0] == 0
