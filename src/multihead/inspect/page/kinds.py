"""Who looks at whom, as the page says it: for each kind of attention its tab, its name and its two sides."""

from multihead.attention_maps import Kind
from multihead.inspect.page.packing import Json


def kind(
    kind: Kind,
    *,
    tab: str,
    title: str,
    name: str,
    lead: str,
    look: str,
    sides: tuple[str, str],
    token: str,
    unit: str = "tokens",
) -> Json:
    """Return what the page reads of one kind.

    Args:
        kind: as the layers have it.
        tab: the short name of its tab.
        title: of its tab.
        name: in captions.
        lead: the sentence above all its heads.
        look: what the tab of the sentence calls it; "" if it is not to be shown there.
        sides: which tokens of the page's data stand in rows and in columns.
        token: what a row and a column are, with a bar between them.
        unit: of distances.
    """
    (rows, columns), (row, column) = sides, token.split("|")
    return {
        "kind": kind,
        "tab": tab,
        "title": title,
        "name": name,
        "lead": lead,
        "look": look,
        "rows": rows,
        "columns": columns,
        "row": f"{row} (query)",
        "column": f"{column} (key)",
        "unit": unit,
    }


TRANSLATION = [
    kind(
        "encoder self",
        tab="encoder",
        title="Encoder",
        name="Encoder self-attention",
        lead="How the source's tokens look at each other, in every layer and head. Choose one to enlarge it.",
        look="source at itself",
        sides=("source", "source"),
        token="source token|source token",
    ),
    kind(
        "decoder self",
        tab="decoder",
        title="Decoder",
        name="Decoder self-attention",
        lead="What the decoder takes from its own output so far. Grey: not yet written, so it may not look "
        "there.",
        look="output at itself",
        sides=("target", "read"),
        token="token to write|token already read",
    ),
    kind(
        "cross",
        tab="cross",
        title="Cross",
        name="Attention over the source",
        lead="How the output looks at the source, in every layer and head.",
        look="output at source",
        sides=("target", "source"),
        token="output token|source token",
    ),
]

CAUSAL = kind(
    "self",
    tab="heads",
    title="Attention",
    name="Self-attention",
    lead="How the tokens look at each other, in every layer and head. Grey: a token may not look at what "
    "comes after it. Choose a head to enlarge it.",
    look="tokens at tokens",
    sides=("source", "source"),
    token="token|token",
)
BOTH_WAYS = {
    **CAUSAL,
    "lead": "How the tokens look at each other, in every layer and head, forwards and backwards. Choose a "
    "head to enlarge it.",
}
PATCHES = kind(
    "self",
    tab="heads",
    title="Every patch",
    name="Self-attention",
    lead="How all patches look at each other, in every layer and head. A patch is named by its row and "
    "column.",
    look="",
    sides=("source", "source"),
    token="patch|patch",
    unit="patches",
)
DRAWING = kind(
    "self",
    tab="heads",
    title="Every place",
    name="Self-attention",
    lead="How caption and picture look at themselves and at each other, in every layer and head. A place of "
    "the picture is named by its row and column. Grey: it comes later, or the layer's layout leaves it out.",
    look="",
    sides=("source", "source"),
    token="place|place",
)
