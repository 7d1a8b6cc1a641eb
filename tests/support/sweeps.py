"""Made-up results of a sweep."""

from multihead import recipe as recipes
from multihead.apps.studies.sweep import Member, MemberRow, Sweep

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
