"""The completion scripts, asked by the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from multihead import cli
from multihead.cli import completion
from multihead.errors import UserError

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_multihead
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def options() -> dict[str, list[str]]:
    return {name: completion.options_of(name) for name in ("doctor", "recipes", "split", "train")}


def completed(options: dict[str, list[str]], folder: Path, *words: str) -> list[str]:
    (folder / "script").write_text(completion.script("bash", options))
    command = ["bash", "-c", COMPLETE, "bash", str(folder / "script"), "multihead", *words]
    printed: str = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return printed.split()


def test_bash_completes_commands(options: dict[str, list[str]], tmp_path: Path) -> None:
    assert completed(options, tmp_path, "") == ["doctor", "recipes", "split", "train"]
    assert completed(options, tmp_path, "tr") == ["train"]


def test_bash_completes_the_options_and_keys_of_a_command(
    options: dict[str, list[str]], tmp_path: Path
) -> None:
    assert "--src-lang" in completed(options, tmp_path, "train", "--sr")
    assert "--training.steps" in completed(options, tmp_path, "train", "runs", "--training.st")
    assert completed(options, tmp_path, "doctor", "--sr") == []


def test_bash_completes_recipes_only_where_one_is_expected(
    options: dict[str, list[str]], tmp_path: Path
) -> None:
    assert completed(options, tmp_path, "train", "multi30k-de-en") == [
        "multi30k-de-en",
        "multi30k-de-en-fast",
    ]
    assert completed(options, tmp_path, "doctor", "multi30k") == []


def test_examples_in_a_help_are_no_options(options: dict[str, list[str]]) -> None:
    assert options["doctor"] == ["--help", "--json"]
    assert "--run" not in options["recipes"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_the_script(shell: str, options: dict[str, list[str]], tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    text = completion.script(shell, options)
    (tmp_path / "script").write_text(text)
    checked = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_fish_completes_the_options_of_a_command(options: dict[str, list[str]], tmp_path: Path) -> None:
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    (tmp_path / "script").write_text(completion.script("fish", options))
    asked = f"source {tmp_path}/script; complete -C 'multihead doctor --js'"
    done = subprocess.run(["fish", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "--json"


@pytest.mark.parametrize(
    ("given", "fact"), [([], "SHELL is missing"), (["tcsh"], "must be one of bash, zsh, fish")]
)
def test_a_shell_without_a_script_is_refused(given: list[str], fact: str) -> None:
    with pytest.raises(UserError, match=fact):
        completion.main(given)


def test_every_command_has_an_entry(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "options_of", lambda name: [f"--{name}"])
    assert cli.main(["completion", "bash"]) == 0
    printed = capsys.readouterr().out
    assert all(f'{name}) words="' in printed for name in cli.commands())
