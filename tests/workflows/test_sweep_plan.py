"""Sweep files: their meaning, and errors before anything is trained."""

from pathlib import Path

import pytest

from multihead.apps.studies.sweep import plan, read_sweep
from multihead.errors import UserError
from multihead.recipe.built_in import sweeps


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def test_the_examples_in_the_documentation_are_valid(written: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "sweeps.md").read_text(encoding="utf-8")
    docstring, in_guide = plan.__doc__ or "", guide.partition("```toml\n")[2].partition("```")[0]
    for text in (docstring.partition("\n\n")[2], in_guide):
        written.write_text(text, encoding="utf-8")
        sweep = read_sweep(str(written))
        assert len(sweep.members) == 4
        assert sweep.base in [member.name for member in sweep.members]


def test_the_guide_gives_the_number_of_members_of_built_in_sweeps() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "sweeps.md").read_text(encoding="utf-8")
    for name in sweeps.names():
        assert f"| `{name}` | {len(read_sweep(name).members)} |" in guide


def test_members_and_grid_make_every_combination(written: Path) -> None:
    written.write_text(
        """# Two sizes,
# twice each.

recipe = "multi30k-de-en"
base = "small,seed=1"

[set]
training.steps = 7
model.dropout = 0.5

[grid]
training.seed = [1, 2]

[[members]]
name = "small"
model.d_model = 16
reference = { bleu = 3.5 }

[[members]]
name = "other"
recipe = "seq2seq-multi30k"
model.dropout = 0.25
"""
    )
    sweep = read_sweep(str(written))
    assert (sweep.name, sweep.about, sweep.base) == ("mine", "Two sizes, twice each.", "small,seed=1")
    assert [member.name for member in sweep.members] == [
        "small,seed=1",
        "small,seed=2",
        "other,seed=1",
        "other,seed=2",
    ]
    first, _, _, last = sweep.members
    assert first.recipe.values()["model.d_model"] == 16
    assert first.recipe.training.steps == last.recipe.training.steps == 7
    assert (first.recipe.training.seed, last.recipe.training.seed) == (1, 2)
    assert first.recipe.values()["model.dropout"] == 0.5
    assert (last.recipe.kind, last.recipe.values()["model.dropout"]) == ("seq2seq", 0.25)
    assert first.changed == {"recipe": "multi30k-de-en", "model.d_model": 16, "training.seed": 1}
    assert (first.reference, last.reference) == ({"bleu": 3.5}, {})


def test_a_grid_alone_is_enough(written: Path) -> None:
    written.write_text(
        'recipe = "quickstart"\n[grid]\nmodel.dropout = [0.0, 0.1]\nmodel.num_heads = [1, 2]\n'
    )
    names = [member.name for member in read_sweep(str(written)).members]
    assert names == [f"dropout={p},num_heads={h}" for p in (0.0, 0.1) for h in (1, 2)]


def test_command_line_settings_take_precedence_over_the_file(written: Path) -> None:
    written.write_text('recipe = "quickstart"\n[[members]]\nname = "a"\ntraining.steps = 7\n')
    (member,) = read_sweep(str(written), {"training.steps": "11"}).members
    assert member.recipe.training.steps == 11
    assert member.changed["training.steps"] == "11"
    written.write_text('recipe = "quickstart"\n[grid]\ntraining.steps = [7, 13]\n')
    with pytest.raises(UserError, match=r"--training\.steps: the grid already varies training\.steps"):
        read_sweep(str(written), {"training.steps": "11"})


def test_members_of_other_models_need_not_have_the_keys_given_for_some(written: Path) -> None:
    written.write_text(
        'recipe = "quickstart"\n[[members]]\nname = "a"\n[[members]]\nname = "b"\nrecipe = "small-vit"\n'
    )
    given = {"training.steps": 11, "training.batch_tokens": 2048}
    first, second = read_sweep(str(written), given, "a*").members
    assert (first.recipe.training.steps, second.recipe.training.steps) == (11, 4000)
    with pytest.raises(UserError, match="unknown key"):
        read_sweep(str(written), given)


def test_a_recipe_file_is_found_next_to_the_sweep_file(written: Path) -> None:
    (written.parent / "base.toml").write_text('extends = "quickstart"\n[training]\nseed = 23\n')
    written.write_text('recipe = "base.toml"\n[[members]]\nname = "a"\n')
    (member,) = read_sweep(str(written)).members
    assert (member.recipe.name, member.recipe.training.seed) == ("a", 23)


MEMBER = 'recipe = "quickstart"\n[[members]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MEMBER + "model.headz = 3\n", 'member a: model.headz: unknown key "model.headz"'),
        (MEMBER + "modle.d_k = 3\n", 'member a: unknown key "modle". Did you mean "model"?'),
        (MEMBER + "model.d_model = 3\n", "member a: model.d_model: [model] d_model 3 is not a multiple of"),
        (MEMBER + 'model.kind = "rnn_attention"\nmodel.num_heads = 2\n', 'the model "rnn_attention" has no'),
        (MEMBER + "training = 3\n", "member a: training is a section; write its keys as training.KEY"),
        ("gird = 3\n" + MEMBER, 'mine.toml: unknown key "gird". Did you mean "grid"?'),
        ('base = "b"\n' + MEMBER, 'base = "b", but no member has this name'),
        (MEMBER + '[[members]]\nname = "a"\n', 'two members are named "a"'),
        (MEMBER + "[grid]\ntraining.seed = 3\n", "[grid]: training.seed must be a list of values"),
        ('[[members]]\nname = "a"\n', "member a: neither the member nor the sweep names a recipe"),
        (
            'recipe = "nowhere"\n[[members]]\nname = "a"\n',
            'mine.toml: member a: no recipe "nowhere"',
        ),
        (
            'recipe = "quickstart"\n[[members]]\nname = "../a"\n',
            'its name "../a" cannot name a folder',
        ),
        ('recipe = "quickstart"\n[[members]]\n', 'member 1: its name "" cannot name a folder'),
        ('recipe = "quickstart"\nmembers = 3\n', "members must be written as [[members]]"),
        ("recipe = \n", "cannot be read: Invalid value (at line 1"),
        ("set = 5\n" + MEMBER, "mine.toml: set must be a table"),
        ("grid = []\n" + MEMBER, "mine.toml: grid must be a table"),
        ("base = 5\n" + MEMBER, "mine.toml: base must be a string"),
        ("members = []\n", "mine.toml: there are no members"),
        ('recipe = "quickstart"\n[[members]]\nname = 5\n', "name must be a string"),
        ('[[members]]\nname = "a"\nrecipe = 7\n', "member a: recipe must be a string"),
        (MEMBER + "reference = 5\n", "member a: reference must be a table"),
        (MEMBER + 'reference = { bleu = "25,8" }\n', "member a: reference.bleu must be a number"),
    ],
)
def test_errors_give_fact_and_place(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    with pytest.raises(UserError) as caught:
        read_sweep(str(written))
    assert message in str(caught.value)
    assert "mine.toml" in str(caught.value) or "nowhere" in message


def test_the_error_for_an_unknown_sweep_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'there is no sweep "lader".*ladder, .*positions'):
        read_sweep("lader")
    with pytest.raises(UserError, match="cannot be read"):
        read_sweep(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", sweeps.names())
def test_a_built_in_sweep_loads_and_has_a_description(name: str) -> None:
    sweep = read_sweep(name)
    assert len(sweep.about) > 20
    assert len(sweep.members) > 2
    assert sweep.name == name


def test_the_documented_sweeps_exist() -> None:
    assert set(sweeps.names()) >= {"ladder", "positions", "table3-mini", "why"}


def test_table3_mini_changes_the_settings_of_the_papers_rows() -> None:
    members = {member.name: member for member in read_sweep("table3-mini").members}
    assert len(members) == 20
    base = members["base"].recipe.values()
    changes = {
        name: {key for key, value in member.recipe.values().items() if value != base[key]} - {"name"}
        for name, member in members.items()
    }
    assert changes["a-h32"] == {"model.num_heads"}
    assert changes["b-dk4"] == {"model.d_k", "model.d_v"}
    assert changes["c-d256"] == {"model.d_model", "model.d_k", "model.d_v"}
    assert changes["e-learned-positions"] == {"model.positions"}
    assert len(changes["big"]) == 4
    assert all("bleu" in member.reference and "perplexity" in member.reference for member in members.values())
