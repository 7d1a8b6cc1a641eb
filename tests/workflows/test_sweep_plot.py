"""A sweep's plot: its axes, and what is drawn."""

from pathlib import Path

import pytest

from multihead.apps.studies.sweep import Member, MemberRow, Plot, Sweep, draw, read_sweep
from multihead.apps.studies.sweep.plot import plotted_lines, setting
from multihead.errors import UserError

SWEEP = """
recipe = "shakespeare-char-cpu"

[plot]
x = "model.num_layers"
y = "loss"
series = "model.positions"

[grid]
model.num_layers = [2, 3]
model.positions = ["learned", "none"]
training.seed = [1, 2]
"""


def written(folder: Path, text: str = SWEEP) -> Sweep:
    file = folder / "mine.toml"
    file.write_text(text)
    return read_sweep(str(file))


def done(member: Member) -> MemberRow:
    layers, seed = (float(str(setting(member, key))) for key in ("model.num_layers", "training.seed"))
    worse = setting(member, "model.positions") == "none"
    return MemberRow(member, "done", {"valid_loss": 5 - layers + seed / 8 + worse, "parameters": 7})


def test_members_that_differ_in_the_seed_alone_are_one_point(tmp_path: Path) -> None:
    sweep = written(tmp_path)
    assert sweep.plot == Plot("model.num_layers", "loss", "model.positions")
    score, found = plotted_lines(sweep.plot, [done(member) for member in sweep.members])
    assert score is not None
    assert found == {
        "positions learned": {2.0: [3.125, 3.25], 3.0: [2.125, 2.25]},
        "positions none": {2.0: [4.125, 4.25], 3.0: [3.125, 3.25]},
    }


def test_the_plot_is_drawn_of_what_is_done(tmp_path: Path) -> None:
    sweep, file = written(tmp_path), tmp_path / "plot.svg"
    waiting = [MemberRow(member, "waiting") for member in sweep.members]
    assert not draw(sweep, waiting, file)
    assert not file.exists()
    assert draw(sweep, [done(sweep.members[0]), *waiting[1:]], file)
    first = file.read_bytes()
    assert draw(sweep, [done(member) for member in sweep.members], file)
    assert b"<svg" in first
    assert file.read_bytes() != first


def test_a_setting_that_a_member_does_not_change_is_its_recipes(tmp_path: Path) -> None:
    member = written(tmp_path).members[0]
    assert setting(member, "training.steps") == 2000


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ('x = "model.num_layers"', "", "x or y is missing"),
        ("model.num_layers", "model.positions", "not a number but learned"),
        ('series = "model.positions"', 'series = "model.place"', 'has no setting "model.place"'),
        ('y = "loss"', 'y = "loss"\nlog = 1', "log must be true or false"),
        ('y = "loss"', 'y = "loss"\nz = "x"', 'unknown key "z"'),
    ],
)
def test_axes_that_cannot_be_drawn_are_refused_before_training(
    tmp_path: Path, old: str, new: str, fact: str
) -> None:
    with pytest.raises(UserError, match=fact):
        written(tmp_path, SWEEP.replace(old, new, 1))
