"""Labels of each kind of attention on the page: tab, captions and axes."""

from multihead.inspect.maps import Kind
from multihead.inspect.page.packing import Json


def kind(
    kind: Kind,
    *,
    tab: str,
    title: str,
    name: str,
    lead: str,
    short: str,
    sides: tuple[str, str],
    token: str,
) -> Json:
    """Return the labels of one kind of attention.

    Args:
        kind: the kind of the layers.
        tab: identifier of its tab.
        title: title of its tab.
        name: its name in captions.
        lead: sentence above the grid of heads.
        short: its label in the Sentence tab; "" to leave it out of that tab.
        sides: keys of the page data that hold the tokens of the rows and of the columns.
        token: labels of rows and columns, separated by "|".
    """
    (rows, columns), (row, column) = sides, token.split("|")
    return {
        "kind": kind,
        "tab": tab,
        "title": title,
        "name": name,
        "lead": lead,
        "short": short,
        "rows": rows,
        "columns": columns,
        "row": f"{row} (query)",
        "column": f"{column} (key)",
        "unit": "tokens",
    }


TRANSLATION = [
    kind(
        "encoder self",
        tab="encoder",
        title="Encoder",
        name="Encoder self-attention",
        lead="Attention between the source tokens in every layer and head. Choose a head to enlarge it.",
        short="source → source",
        sides=("source", "source"),
        token="source token|source token",
    ),
    kind(
        "decoder self",
        tab="decoder",
        title="Decoder",
        name="Decoder self-attention",
        lead="Attention of each output token to the output before it. Grey cells are masked: those tokens "
        "come later.",
        short="output → output",
        sides=("target", "read"),
        token="output token|previous token",
    ),
    kind(
        "cross",
        tab="cross",
        title="Cross",
        name="Attention over the source",
        lead="Attention of each output token to the source in every layer and head.",
        short="output → source",
        sides=("target", "source"),
        token="output token|source token",
    ),
]

CAUSAL = kind(
    "self",
    tab="heads",
    title="Attention",
    name="Self-attention",
    lead="Attention between the tokens in every layer and head. Grey cells are masked: a token does not "
    "attend to later tokens. Choose a head to enlarge it.",
    short="token → token",
    sides=("source", "source"),
    token="token|token",
)
BIDIRECTIONAL = {
    **CAUSAL,
    "lead": "Attention between the tokens in every layer and head, in both directions. Choose a head to "
    "enlarge it.",
}
PATCHES = {
    **CAUSAL,
    "title": "All patches",
    "lead": "Attention between all patches in every layer and head. A patch is named by its row and column.",
    "short": "",
    "row": "patch (query)",
    "column": "patch (key)",
    "unit": "patches",
}
DRAWING = {
    **CAUSAL,
    "title": "All positions",
    "lead": "Attention between all caption tokens and image positions in every layer and head. An image "
    "position is named by its row and column. Grey cells are masked: the position comes later, or lies "
    "outside the layer's sparse layout.",
    "short": "",
    "row": "position (query)",
    "column": "position (key)",
}
