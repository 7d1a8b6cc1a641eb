"""Errors in recipes name the fact, the place and the remedy."""

from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.recipe import from_toml, load, refuse_contradictions


def message(text: str) -> str:
    with pytest.raises(UserError) as caught:
        from_toml(text, "my.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[training]\nstps = 1\n", 'my.toml:2: unknown key "training.stps". Did you mean "training.steps"?'),
        ("[trainin]\nsteps = 1\n", 'my.toml:1: unknown section "trainin". Did you mean "training"?'),
        ("\n[nowhere]\n", 'my.toml:2: unknown section "nowhere". Sections are data, tokenizer, model, '),
        ("steps = 1\n", 'my.toml:1: unknown section "steps"'),
        ("training = 5\n", "my.toml:1: training is a section, not a value"),
        ("name = 5\n", "my.toml:1: name must be a string"),
        (
            "[training]\n\nbeam_size = 3\n",
            'my.toml:3: unknown key "training.beam_size". Did you mean "search.beam_size"?',
        ),
        ("[model]\nd_modle = 3\n", 'my.toml:2: unknown key "model.d_modle". Did you mean "model.d_model"?'),
        ("[model]\nkin = 3\n", 'my.toml:2: unknown key "model.kin". Did you mean "model.kind"?'),
        (
            "[search]\nqqqq = 3\n",
            'my.toml:2: unknown key "search.qqqq". Keys of [search]: method, beam_size, ',
        ),
        (
            "[training]\nsteps = 0\n",
            "my.toml:2: training.steps = 0, but it must be an integer of at least 1",
        ),
        ("[training]\nsteps = 1.5\n", "training.steps = 1.5, but it must be an integer of at least 1"),
        ("[training]\nsteps = true\n", "training.steps = true, but it must be an integer of at least 1"),
        ('[training]\nsteps = "9"\n', 'training.steps = "9", but it must be an integer of at least 1'),
        ("[training]\nema = 1\n", "training.ema = 1, but it must be a number of at least 0 and below 1"),
        ("[training]\nlearning_rate = 0\n", "learning_rate = 0, but it must be a number above 0"),
        ("[training]\nlearning_rate = inf\n", "learning_rate = inf, but it must be a number above 0"),
        ("[search]\ntemperature = nan\n", "temperature = nan, but it must be a number above 0"),
        ("[training]\nbetas = [0.9]\n", "training.betas = [0.9], but it must be a list of 2 numbers"),
        (
            "[training]\nbetas = [nan, 0.9]\n",
            "training.betas = [nan, 0.9], but it must be a list of 2 numbers",
        ),
        (
            "[training]\nbetas = [1.0, 0.98]\n",
            "my.toml:2: [training] betas = [1.0, 0.98], but each must be at least 0 and below 1",
        ),
        ("[training]\nbetas = [0.9, -0.1]\n", "my.toml:2: [training] betas = [0.9, -0.1], but each"),
        ("[training]\ncompile = 1\n", "training.compile = 1, but it must be true or false"),
        (
            '[training]\nschedule = "linear"\n',
            'schedule = "linear", but it must be one of "noam", "inverse_sqrt", ',
        ),
        ("[data]\nsource = 3\n", "data.source = 3, but it must be a list of strings"),
        ("[data]\ndir = 3\n", "data.dir = 3, but it must be a string"),
        (
            "[data]\ntests = 3\n",
            "data.tests = 3, but it must be a table, {name = ...}, each entry a list of strings",
        ),
        (
            "[data.tests]\nnews = [3]\n",
            "my.toml:1: data.tests = {news = [3]}, but it must be a table, {name = ...}, each entry",
        ),
        ("[data]\ndir = 2024-11-21\n", "data.dir = 2024-11-21, but it must be a string"),
        (
            "[model]\nd_model = 7\nnum_heads = 3\n",
            "my.toml:3: [model] d_model 7 is not a multiple of num_heads 3",
        ),
        ('[model]\nkind = "transfromer"\n', 'no model "transfromer". Did you mean "transformer"?'),
        ("[model]\nkind = 3\n", "my.toml:2: model.kind = 3, but it must be a string"),
        ('extends = "\\u0000.toml"\n', "cannot be read: embedded null byte"),
        ("a = " + "[" * 3000, "my.toml: too deeply nested"),
        ("[training\n", "my.toml:1: not TOML"),
        ("[training]\nsteps = 1\nsteps = 2\n", "my.toml:3: not TOML"),
        (
            'extends = "multi30k-de"\n',
            'my.toml:1: no recipe "multi30k-de". Did you mean "multi30k-de-en"?',
        ),
    ],
)
def test_an_error_names_fact_place_and_remedy(text: str, expected: str) -> None:
    error = message(text)
    assert expected in error
    assert "pydantic" not in error
    assert "http" not in error


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (
            "training.steps",
            "many",
            '--training.steps: "many" is given, but it must be an integer',
        ),
        (
            "training.stps",
            "1",
            '--training.stps: unknown key "training.stps". Did you mean "--training.steps"?',
        ),
        ("steps", "1", '--steps: unknown key "steps". Did you mean "training.steps"?'),
        ("nonsense", "1", '--nonsense: unknown key "nonsense". Give section and key'),
        ("trainin.steps", "1", 'unknown section "trainin". Did you mean "--training.steps"?'),
        ("data.dir.x", "1", '--data.dir: {x = "1"} is given, but it must be a string'),
        ("model.num_heads", "7", "--model.num_heads: [model] d_model 512 is not a multiple of num_heads 7"),
        ("training.steps", "[" * 3000, "but it must be an integer of at least 1"),
        ("training.betas", "[0.9, 1]", "--training.betas: [training] betas = [0.9, 1.0], but each must be"),
        ("name", "a/b", 'name = "a/b", but it must be a valid folder name'),
        ("name", "", 'name = "", but it must be a valid folder name'),
        ("name", "..", 'name = "..", but it must be a valid folder name'),
        ("data.dir", "caf\udce9", 'data.dir: "caf\\udce9" is given, but it must be a string'),
        (
            "data.tests.news",
            "caf\udce9",
            "but it must be a table, {name = ...}, each entry a list of strings",
        ),
    ],
)
def test_an_error_on_the_command_line_names_the_option(key: str, value: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        load("transformer-base", {key: value})
    assert expected in str(caught.value)


def test_a_wrong_value_is_an_error_in_the_file_that_sets_it(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("# one\n\n[training]\nsteps = -1\n")
    (tmp_path / "b.toml").write_text('extends = "a.toml"\n[training]\nseed = 3\n')
    with pytest.raises(UserError, match=r"a\.toml:4: training\.steps = -1"):
        load(tmp_path / "b.toml")


def test_a_value_after_a_long_text_has_the_right_line(tmp_path: Path) -> None:
    text = '[data]\ndir = """\n[training]\nsteps = -1\n"""\n[training]\nsteps = -2\n'
    assert "my.toml:7: training.steps = -2" in message(text)


def test_an_unknown_name_suggests_the_closest_recipe() -> None:
    with pytest.raises(UserError, match=r'no recipe "quikstart"\. Did you mean "quickstart"'):
        load("quikstart")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing\.toml: no such file"):
        load(tmp_path / "missing.toml")


def test_a_folder_is_not_a_recipe(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UserError, match=r"is a folder\. A recipe is a TOML file"):
        load(tmp_path / "folder.toml")


def test_a_file_in_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes('name = "a"\n# für\n'.encode("latin-1"))
    with pytest.raises(UserError, match=r"latin\.toml:2: not UTF-8"):
        load(tmp_path / "latin.toml")


def test_one_matrix_for_two_vocabularies_is_refused_before_data_is_read() -> None:
    contradictory = {"tokenizer.joint": "false", "data.source": "nowhere.de", "data.target": "nowhere.en"}
    with pytest.raises(
        UserError, match=r"two vocabularies cannot share one matrix\. Set model\.tied to \"dec"
    ):
        refuse_contradictions(from_toml("", overrides=contradictory))
    for key, value in {"model.tied": "decoder", "tokenizer.joint": "true"}.items():
        refuse_contradictions(from_toml("", overrides={**contradictory, key: value}))


@pytest.mark.parametrize(
    ("recipe", "allowed"),
    [
        ('model.kind = "conv_s2s"\n', 96),
        ('model.kind = "transformer"\nmodel.positions = "learned"\n', 96),
        ('model.kind = "bert"\n', 97),
    ],
)
def test_inputs_longer_than_the_positions_are_refused_before_data_is_read(recipe: str, allowed: int) -> None:
    given = {"model.max_positions": "97"}
    with pytest.raises(UserError, match=r"data\.max_length: inputs of up to 98 tokens, but the model has 97"):
        refuse_contradictions(from_toml(recipe, overrides={**given, "data.max_length": str(allowed + 1)}))
    refuse_contradictions(from_toml(recipe, overrides={**given, "data.max_length": str(allowed)}))


@pytest.mark.parametrize("kind", ["seq2seq", "rnn_attention", "transformer"])
def test_inputs_may_have_any_length_unless_positions_are_learned(kind: str) -> None:
    refuse_contradictions(from_toml(f'model.kind = "{kind}"', overrides={"data.max_length": "5003"}))


def test_a_number_with_too_many_digits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f"training.steps = {'1' * 5003}\n")
    with pytest.raises(UserError, match=r"a\.toml: a number with too many digits"):
        load(tmp_path / "a.toml")
    with pytest.raises(UserError, match=r"training\.steps"):
        load("quickstart", {"training.steps": "1" * 5003})


def test_a_long_chain_of_recipes_is_refused(tmp_path: Path) -> None:
    for number in range(37):
        (tmp_path / f"{number}.toml").write_text(f'extends = "{number + 1}.toml"\n')
    with pytest.raises(UserError, match="more than 30 recipes extend each other"):
        load(tmp_path / "0.toml")


def test_n_best_larger_than_the_beam_size_is_refused_before_training() -> None:
    given = {"search.beam_size": "2", "search.n_best": "5"}
    with pytest.raises(UserError, match="n_best 5 is larger than the beam size, 2"):
        refuse_contradictions(from_toml("", overrides=given))
    refuse_contradictions(from_toml("", overrides={**given, "search.method": "sample"}))
