"""Help fits on a page; a mistyped option, choice or section gets its suggestion."""

import importlib

import pytest
from command_line import Captured, fail

from multihead.cli import GROUPS, _help, _keys, commands, main
from multihead.cli._parsing import Argument, arguments_of, parse
from multihead.cli.train import Options as TrainOptions
from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES, from_toml, model_kinds, section_types
from multihead.recipe.settings import SearchSettings


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert end.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", commands())
def test_no_help_is_longer_than_a_page(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(capsys, name, "--help").split("\n")
    assert len(lines) <= 71  # the last one is empty
    assert max(map(len, lines)) <= 80


def test_every_command_is_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= commands().keys()
    main(["--help"])
    output = capsys.readouterr().out
    assert all(output.count(f"\n  {name} ") == 1 for name in commands())
    assert output.index("\n  train ") < output.index("\n  translate ") < output.index("\n  data ")


@pytest.mark.parametrize("section", SECTION_NAMES)
def test_help_of_a_section_lists_its_keys(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    output = printed(capsys, "train", "--help", section)
    settings = section_types("transformer")[section]
    assert all(
        f"--{section}.{key}\n" in output or f"--{section}.{key} " in output for key in settings.model_fields
    )
    assert "--run" not in output


def test_help_of_a_section_follows_the_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    output = printed(capsys, "train", "vit-digits", "--help", "model")
    assert "--model.patch_size" in output
    assert "--model.num_kv_heads" not in output


def test_help_all_has_every_key_with_description_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    output = printed(capsys, "train", "--help-all")
    assert set(_keys.spellings(section_types("transformer"))) <= set(output.split())
    words = " ".join(output.split())
    assert "Maximum gradient norm; larger gradients are clipped. 0: no clipping. [1.0]" in words
    assert "One of bpe, unigram, wordpiece, chars, words, spaced. [bpe]" in words
    assert "--processes N" in output


def test_help_of_a_short_section_omits_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    output = printed(capsys, "translate", "--help", "search").split()
    assert {f"--{key.replace('_', '-')}" for key in SearchSettings.model_fields} <= set(output)


@pytest.mark.parametrize("width", [80, 120])
def test_help_all_fits_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(map(len, printed(capsys, "train", "--help-all").split("\n"))) <= min(width, _help.MAX_WIDTH)


def swapped(name: str) -> str:
    """Return a name with two different neighbouring letters swapped, near its beginning."""
    start = len(name) - len(name.lstrip("-")) + 1
    place = next(i for i in range(start, len(name)) if name[i : i + 2].isalpha() and name[i] != name[i + 1])
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]


def options() -> list[tuple[str, Argument]]:
    modules = {name: importlib.import_module(f"multihead.cli.{name}") for name in commands()}
    return [(name, argument) for name in modules for argument in arguments_of(modules[name].Options)]


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (name, argument.shown)
        for name, argument in options()
        if len(argument.shown) > 6 and argument.spellings
    ],
)
def test_a_mistyped_option_is_suggested(name: str, option: str, capfdbinary: Captured) -> None:
    error = fail(capfdbinary, name, swapped(option))
    assert error.count("\n") == 1
    assert f'Did you mean "{option}"?' in error


@pytest.mark.parametrize("kind", model_kinds.built_in())
def test_a_mistyped_key_is_suggested(kind: str) -> None:
    for section, settings in section_types(kind).items():
        for key in settings.model_fields:
            if len(key) > 4:
                recipe = f'[model]\nkind = "{kind}"\n'
                with pytest.raises(UserError, match="Did you mean") as error:
                    from_toml(recipe, overrides={f"{section}.{swapped(key)}": "1"})
                assert f'"--{section}.{key}"' in str(error.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train", "--stpes", "3"], 'unknown option "--stpes". Did you mean "--training.steps"?'),
        (["train", "--minuts", "3"], 'Did you mean "--minutes"?'),
        (["train", "quickstart", "--trainng.steps", "3"], 'Did you mean "--training.steps"?'),
        (["train", "quickstart", "--training.stpes", "3"], 'Did you mean "--training.steps"?'),
        (["train", "quickstart", "--model.stpes", "3"], 'Did you mean "--training.steps"?'),
        (["train", "quickstart", "--training.optimizer", "adma"], 'Did you mean "adam"?'),
        (["train", "--help", "trainng"], 'no section "trainng". Did you mean "training"?'),
        (["train", "--minutes", "soon"], "--minutes soon, but it must be a number"),
        (["train", "--minutes"], "--minutes needs a value. Write --minutes N."),
        (["train", "--dry-run=yes"], "--dry-run takes no value"),
        (["train", "quickstart", "extra"], 'unexpected argument "extra"'),
        (["translate", "r", "--precision", "fp23"], 'Did you mean "fp32"?'),
        (["translate", "r", "--baem-size", "3"], 'Did you mean "--beam-size"?'),
        (["data", "lsit"], 'Did you mean "list"?'),
        (["data"], "multihead data: list|get|make|cache is missing"),
        (["translate"], "multihead translate: RUN is missing"),
        (["verify", ""], "multihead verify: RUN is missing. Usage: multihead verify RUN"),
        (["tag"], "Usage: multihead tag RUN [TEXT]"),
        (["distill", "r"], "--output is missing. Usage: multihead distill RUN... -o DIR"),
        (["doctor", "a", "--", "--json"], 'unexpected argument "--json"'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_gets_one_line(words: list[str], told: str, capfdbinary: Captured) -> None:
    error = fail(capfdbinary, *words)
    assert told in error
    assert error.count("\n") == 1


def test_a_repeated_option_of_several_files_names_all_of_them() -> None:
    words = ["--src", "a.de", "b.de", "--tgt", "a.en", "--src", "c.de", "--minutes", "3", "--minutes=5"]
    options = parse(TrainOptions, words, "train", keys=list)
    assert options.src == ("a.de", "b.de", "c.de")
    assert options.tgt == ("a.en",)
    assert options.minutes == 5
