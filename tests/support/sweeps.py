"""Made-up results of a sweep."""

from dataclasses import replace

from reports import a_comparison

from multihead import recipe as recipes
from multihead.apps.studies.sweep import Member, MemberRow, Sweep, to_html

RECIPE = recipes.load("quickstart")


def row(name: str, bleu: float | None, *, reference: float | None = None, **changed: object) -> MemberRow:
    """Return the row of a member with its BLEU on a test set, or of a waiting one."""
    member = Member(
        name,
        RECIPE,
        {key.replace("__", "."): value for key, value in changed.items()},
        {} if reference is None else {"bleu": reference},
    )
    if bleu is None:
        return MemberRow(member, "waiting")
    return MemberRow(member, "done", {"minutes": 1.25, "news": {"bleu": bleu, "perplexity": 7.0}})


def sweep_of(*rows: MemberRow, base: str = "") -> Sweep:
    return Sweep("mine", "about", base, tuple(each.member for each in rows))


def sweep_page() -> str:
    """Return the page of a sweep with a member in each state."""
    changes = {"model__d_ff": 1024, "model__norm": "pre", "training__label_smoothing": 0.125}
    rows = [row("base", 30.0, reference=20.0), row("wide and normalised", 32.0, reference=21.0, **changes)]
    rows += [
        row("waiting", None),
        MemberRow(row("failed", None).member, "failed", error="loss is not finite"),
    ]
    runs = [replace(run, name=each.member.name) for run, each in zip(a_comparison().runs, rows, strict=False)]
    return to_html(sweep_of(*rows, base="base"), rows, runs)
