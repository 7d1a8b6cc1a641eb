"""Models in Python files and installed packages: found, recorded, and never executed unasked."""

import json
import logging
import shutil
import subprocess
from pathlib import Path

import pytest
from sealing import accept

import multihead
from multihead import recipe as recipes
from multihead.apps.studies.sweep import running
from multihead.apps.studies.sweep.plan import read_sweep
from multihead.cli import main
from multihead.errors import UserError
from multihead.recipe import model_kinds, recipe_hash
from multihead.system import plugins
from multihead.workflows.resolve_recipe import resolve_recipe

CODE = """
from pathlib import Path
Path(__file__).with_name("executed").touch()
from multihead.models.transformer import Settings, Transformer as Model
"""
NOTHING: dict[str, tuple[str, ...]] = {"source": (), "target": (), "valid_source": (), "valid_target": ()}
SMALL = {
    "tokenizer.kind": "chars",
    "model.d_model": 14,
    "model.d_ff": 22,
    "model.num_heads": 2,
    "model.num_layers": 1,
    "training.steps": 4,
    "training.batch_tokens": 211,
    "training.warmup_steps": 1,
    "training.average": 1,
    "training.schedule": "inverse_sqrt",
    "training.threads": 1,
    "validation.every": 2,
    "validation.max_examples": 3,
    "validation.samples": 1,
    "search.method": "greedy",
    "search.max_extra": 2,
}


def train(folder: Path, *more: object) -> int:
    """Train a small model in a file of its own, as the command line does."""
    keys = [part for key, value in SMALL.items() for part in (f"--{key}", str(value))]
    files = ["--src", str(folder / "a.de"), "--tgt", str(folder / "a.en")]
    return main(["train", *files, *keys, *map(str, more)])


def forget() -> None:
    """Be like a new process: no file is named, and none was executed."""
    for memory in (plugins._named, plugins._known, plugins._modules, plugins._warned):
        memory.clear()
    model_kinds._task_file.cache_clear()


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    forget()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, mine.py, and a run of it in run/."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "mine.py").write_text(CODE)
    for side, shift in (("de", 0), ("en", 1)):
        lines = [f"{'abcdefg'[(i + shift) % 7]} {'hijkl'[(i + shift) % 5]}{i % 11}\n" for i in range(101)]
        (folder / f"a.{side}").write_text("".join(lines))
    forget()
    assert train(folder, "--model.kind", folder / "mine.py", "--run", folder / "run") == 0
    assert (folder / "executed").is_file()
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """Another machine: everything is somewhere else, and nothing was executed there."""
    folder = tmp_path / "other"
    shutil.copytree(made, folder)
    (folder / "executed").unlink()
    return folder


def test_a_run_records_the_files_name_and_hash_but_no_place(place: Path) -> None:
    kind = json.loads((place / "run" / "model.json").read_text())["kind"]
    assert kind == f"mine.py@{plugins.File(place, (place / 'mine.py').read_bytes()).sha256}"
    for file in (place / "run").glob("*.[jt]*"):
        assert "/mine.py" not in file.read_text()
    assert f'kind = "{kind}"' in (place / "run" / "recipe.toml").read_text()


COMMANDS = [
    ["translate", "RUN", "-i", "HERE/a.de"],
    ["score", "RUN", "--src", "HERE/a.de", "--tgt", "HERE/a.en"],
    ["evaluate", "RUN", "--src", "HERE/a.de", "--tgt", "HERE/a.en"],
    ["compare", "RUN", "--src", "HERE/a.de", "--tgt", "HERE/a.en", "-o", "HERE/page.html"],
    ["inspect", "RUN", "a h1"],
    ["export", "RUN", "--to", "sentencepiece", "-o", "HERE/vocabulary"],
    ["generate", "RUN", "--prompt", "a"],
    ["classify", "RUN", "a"],
    ["serve", "RUN", "--port", "0"],
    ["train", "--run", "RUN"],
    ["train", "RUN/recipe.toml", "--run", "HERE/again"],
    ["train", "--init", "RUN", "--src", "HERE/a.de", "--tgt", "HERE/a.en", "--run", "HERE/tuned"],
    ["train", "HERE/extending.toml", "--run", "HERE/extended"],
    ["train", "--help", "RUN/recipe.toml"],
]


@pytest.mark.parametrize("recorded", ["as it was", "path", "absolute path", "of another folder"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_executes_what_a_run_folder_holds_or_names(
    place: Path, words: list[str], recorded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = place / "run"
    shutil.copy(place / "mine.py", run / "mine.py")
    (place / "extending.toml").write_text(f'extends = "{run}/recipe.toml"\n')
    before = json.loads((run / "model.json").read_text())["kind"]
    now = {"path": "mine.py", "absolute path": f"{run}/mine.py", "of another folder": "../mine.py"}
    for file in ("model.json", "recipe.toml"):
        text = (run / file).read_text()
        (run / file).write_text(text.replace(before, now.get(recorded, before)))
    accept(run)  # whoever made the folder made its checksums too
    command = [word.replace("RUN", str(run)).replace("HERE", str(place)) for word in words]
    if "--help" in command:
        with pytest.raises(SystemExit):
            main(command)
    else:
        assert main(command) == 2
        told = capsys.readouterr().err
        assert "is executed only where you name it" in told or "trained for" in told
        assert "Traceback" not in told
    assert not list(place.rglob("executed"))


def test_naming_the_file_is_consent(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["translate", str(place / "run"), "-i", str(place / "a.de")]
    assert main([*command, "--model.file", str(place / "mine.py")]) == 0
    by_option = capsys.readouterr().out
    assert by_option.count("\n") == 101
    assert (place / "executed").is_file()
    forget()
    assert main(command) == 2
    capsys.readouterr()
    monkeypatch.setenv(plugins.VARIABLE, str(place / "mine.py"))
    assert main(command) == 0
    assert capsys.readouterr().out == by_option
    monkeypatch.delenv(plugins.VARIABLE)
    forget()
    translator = multihead.load(place / "run", model_file=place / "mine.py")
    assert [one.text for one in translator.translate_texts(["a h0"])] == [by_option.split("\n")[0]]
    assert multihead.evaluate(
        place / "run", source=place / "a.de", target=place / "a.en", model_file=place / "mine.py"
    )


def test_a_missing_file_is_told_by_its_name_hash_and_remedy(place: Path) -> None:
    with pytest.raises(UserError, match=r"mine\.py \(SHA-256 [0-9a-f]{12}\) is code from outside") as told:
        multihead.load(place / "run")
    assert told.value.place == str(place / "run")
    assert "--model.file path/to/mine.py" in str(told.value)
    assert plugins.VARIABLE in str(told.value)
    with pytest.raises(UserError, match=r"nowhere\.py: cannot be read as the Python file"):
        multihead.load(place / "run", model_file=place / "nowhere.py")


def test_a_changed_file_is_told(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    old = recorded(place)
    (place / "mine.py").write_text(f"{CODE}\n# changed\n")
    multihead.load(place / "run", model_file=place / "mine.py")
    (message,) = caplog.messages
    now = plugins.name_file(place / "mine.py")
    assert message.startswith(
        f"{plugins.display_name(old)} is recorded, but {plugins.display_name(now)} is used"
    )
    caplog.clear()
    multihead.load(place / "run")
    assert not caplog.messages  # once is enough


def recorded(place: Path) -> str:
    kind: str = json.loads((place / "run" / "model.json").read_text())["kind"]
    return kind


def test_training_that_goes_on_with_a_changed_file_says_so_and_records_both(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = recorded(place)
    (place / "mine.py").write_text(f"{CODE}\n# changed\n")
    more = ["--training.steps", "6", "--model.file", str(place / "mine.py")]
    assert main(["train", "--run", str(place / "run"), *more]) == 0
    assert sum("the file has changed" in message for message in caplog.messages) == 1
    described = json.loads((place / "run" / "model.json").read_text())
    assert described["kind"] == plugins.name_file(place / "mine.py")
    assert described["earlier_kinds"] == [old]
    forget()
    caplog.clear()
    multihead.load(place / "run", model_file=place / "mine.py")
    assert not [message for message in caplog.messages if "changed" in message]


def test_training_that_goes_on_with_the_same_file_is_the_same_run(place: Path) -> None:
    kind = ["--model.kind", str(place / "mine.py")]
    assert main(["train", "--run", str(place / "run"), *kind, "--training.steps", "6"]) == 0
    assert "earlier_kinds" not in (place / "run" / "model.json").read_text()


def test_of_two_files_of_one_name_the_recorded_one_is_taken(place: Path) -> None:
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "mine.py").write_text("raise SystemExit\n")
    plugins.name_file(place / "elsewhere" / "mine.py")
    multihead.load(place / "run", model_file=place / "mine.py")
    (place / "mine.py").write_text(f"{CODE}\n# changed\n")
    forget()
    plugins.name_file(place / "elsewhere" / "mine.py")
    with pytest.raises(UserError, match="no file of this name has this content"):
        multihead.load(place / "run", model_file=place / "mine.py")


def test_what_was_read_is_executed_whatever_the_file_holds_later(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    kind = plugins.name_file(file)
    file.write_text("raise SystemExit")
    assert model_kinds.load(kind).Settings
    assert kind.endswith(plugins.File(file, CODE.encode()).sha256)


def test_a_path_in_a_recipe_is_seen_from_the_recipes_folder(place: Path) -> None:
    (place / "own.toml").write_text('[model]\nkind = "mine.py"\nd_model = 64\n')
    (place / "further").mkdir()
    (place / "further" / "more.toml").write_text('extends = "../own.toml"\n[model]\nd_ff = 17\n')
    kind = plugins.name_file(place / "mine.py")
    recipe = resolve_recipe(str(place / "further" / "more.toml"), NOTHING, {}, run=None, init=None)
    assert recipe.kind == kind
    assert (recipe.model.model_dump()["d_model"], recipe.model.model_dump()["d_ff"]) == (64, 17)
    typed = {"model.kind": str(place / "mine.py")}
    assert (
        resolve_recipe(str(place / "own.toml"), NOTHING, typed, run=None, init=None).model
        == recipes.load(place / "own.toml").model
    )


@pytest.mark.parametrize("named", ["mine.py", "./mine.py", "/nowhere/mine.py", "no.py", "a\x00.py", ".py"])
@pytest.mark.parametrize("more", [["--dry-run"], ["--help"], ["--run", "HERE/run"]], ids=" ".join)
def test_a_recipe_that_somebody_sent_executes_nothing(
    place: Path, named: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    kind = json.dumps(named)
    (place / "sent.toml").write_text(f'[data]\nsource = "a.de"\ntarget = "a.en"\n[model]\nkind = {kind}\n')
    command = ["train", str(place / "sent.toml"), *(word.replace("HERE", str(place)) for word in more)]
    if "--help" in more:
        with pytest.raises(SystemExit):
            main(command)
    else:
        assert main(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "sent.toml:5: " in line
        assert "is executed only where you name it yourself. Add --model.file" in line
    assert not list(place.rglob("executed"))


def test_a_recipe_executes_the_file_that_the_command_names(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "sent.toml").write_text('[data]\nsource = "a.de"\ntarget = "a.en"\n[model]\nkind = "mine.py"\n')
    keys = [part for key, value in SMALL.items() for part in (f"--{key}", str(value))]
    command = ["train", str(place / "sent.toml"), "--data.dir", str(place), "--dry-run", *keys]
    assert main([*command, "--model.file", str(place / "mine.py")]) == 0
    assert (place / "executed").is_file()
    (place / "elsewhere").mkdir()
    files = [place / "elsewhere" / "mine.py", place / "mine.py"]
    for file in files:
        file.write_text("raise SystemExit\n")
    for count, executed in (
        (1, files[0]),
        (2, files[1]),
    ):  # the only one of this name; the one beside the recipe
        forget()
        named = [word for file in files[:count] for word in ("--model.file", str(file))]
        assert main([*command, *named]) == 2
        assert f"{executed}:1: its code fails" in capsys.readouterr().err


def test_other_code_is_another_run(place: Path) -> None:
    def folder_of() -> str:
        typed = {"model.kind": str(place / "mine.py")}
        return recipe_hash(recipes.from_toml("", overrides=typed))

    before = folder_of()
    assert folder_of() == before
    (place / "mine.py").write_text(f"{CODE}\n# changed\n")
    assert folder_of() != before


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ("x = 1\n", r"mine\.py: it has no class Settings\. .*docs/how-to/extending\.md"),
        ("x = 1\nx =\n", r"mine\.py:2: its code fails \(SyntaxError"),
        ("\n\nimport nowhere_at_all\n", r"mine\.py:3: its code fails \(ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", r"mine\.py:2: its code fails \(SystemExit"),
        (f"{CODE}\nTASK = 7\n", r"mine\.py: TASK is not a text"),
        (f'{CODE}\nTASK = "nothing"\n', r'there is no task "nothing"'),
        (f'{CODE}\nTASK = "nowhere.py"\n', r"nowhere\.py: cannot be read"),
        (f'{CODE}\nTASK = "mine.py"\n', r"mine\.py: its TASK is not a Task"),
    ],
)
def test_a_file_that_is_no_model_is_told(tmp_path: Path, code: str, fact: str) -> None:
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(UserError, match=fact):
        recipes.from_toml("", overrides={"model.kind": str(tmp_path / "mine.py")})


def test_an_option_without_a_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "run", "--model.file"]) == 2
    assert "--model.file: no file was given" in capsys.readouterr().err


def test_a_sweep_names_files_from_its_own_folder_and_its_processes_may_execute_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "sweep.toml").write_text(
        'recipe = "multi30k-de-en"\nset.model.kind = "mine.py"\n[[members]]\nname = "one"\n'
    )
    with pytest.raises(UserError, match=r'member one: "mine\.py" is a Python file, which is executed only'):
        read_sweep(str(place / "sweep.toml"), {})
    assert not (place / "executed").exists()
    plugins.name_file(place / "mine.py")
    (member,) = read_sweep(str(place / "sweep.toml"), {}).members
    assert member.recipe.kind == recorded(place)
    begun: list[dict[str, str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: begun.append(env))
    running._start(member, place, jobs=1)
    file = recipes.load(place / "one.toml")
    assert file.kind == recorded(place)
    forget()
    with pytest.raises(UserError, match=r"one\.toml:\d+: mine\.py \(SHA-256 .* is executed only where"):
        recipes.load(place / "one.toml")
    monkeypatch.setenv(plugins.VARIABLE, begun[0][plugins.VARIABLE])
    assert recipes.load(place / "one.toml") == file


# --- installed packages -----------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with entry points."""
    site = tmp_path / "site"
    (site / "their_models").mkdir(parents=True)
    (site / "their_models" / "__init__.py").touch()
    (site / "their_models" / "wide.py").write_text(CODE)
    (site / "their_models" / "broken.py").write_text("import nowhere_at_all\n")
    info = site / "their_models-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-models\nVersion: 1.2.3\n")
    (info / "entry_points.txt").write_text(
        "[multihead.models]\n"
        "wide = their_models.wide\nbroken = their_models.broken\ntransformer = their_models.broken\n"
        "a_class = their_models.wide:Settings\n"
    )
    monkeypatch.syspath_prepend(str(site))
    return site


def test_an_installed_model_is_found_by_its_name(place: Path, package: Path, tmp_path: Path) -> None:
    assert "wide" in model_kinds.names()
    assert train(place, "--model.kind", "wide", "--run", tmp_path / "run") == 0
    described = json.loads((tmp_path / "run" / "model.json").read_text())
    assert described["kind"] == "wide"
    assert described["versions"]["their-models"] == "1.2.3"
    assert main(["translate", str(tmp_path / "run"), "-i", str(place / "a.de")]) == 0


def test_an_installed_model_that_fails_is_told(package: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UserError, match=r'the entry point "broken" of their-models fails \(ModuleNotFound'):
        model_kinds.load("broken")
    with pytest.raises(UserError, match='the entry point "a_class" is not a module but a'):
        model_kinds.load("a_class")
    with caplog.at_level(logging.WARNING):
        assert model_kinds.load("transformer").__name__ == "multihead.models.transformer"
        assert model_kinds.names().count("transformer") == 1
    assert "transformer of their-models" in caplog.messages[0]
    assert "is ignored: its name is already taken" in caplog.messages[0]
