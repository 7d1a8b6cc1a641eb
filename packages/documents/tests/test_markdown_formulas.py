"""Formulas of Markdown pages and notebooks: all there after a translation, with all words translated."""

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from multihead_documents import Markup, open_document

CASES = int(os.environ.get("EXAMPLES", "300"))
"""Pages of the generator; 5,000 were run for 0.1.0."""

SINGLE = [
    *("$x$", "$x_1$", "$(x, y)$", "$[0, 1]$", "$ x = 1 $", "$ n $", "$a + b$"),
    *("$\\alpha \\to \\beta$", "$5$"),
    *("$\\{1, 2\\}$", "$x \\text{ if } y > 0$", "$|a|$", "$n!$", "$f(x) = 2x$", "$\\$5$", "$2^{10}$"),
    "$p < .05$",
    *("\\(x\\)", "\\(x, y = z\\)", "\\\\(a_b\\\\)", "\\\\[a * b\\\\]", "\\[\\frac{a}{b}\\]", "$`x * y`$"),
    *("$$x$$", "$$ x = y $$", "$$\\begin{aligned}a\\\\b\\end{aligned}$$"),
    *("\\begin{align*}a &= b\\end{align*}", "$$x \\text{ for $y$}$$", "$*x*$", "$_a_b$", "$<b>$", "$[a](b)$"),
    *("$a\\_b$", "$a = $", "$p_t $", "$ w_t^h$", "$ 0 < \\frac{a}{b} $"),
]  # fmt: skip
LONG = [
    *("$$\nx\n$$", "$$\nx = y\n= z\n$$", "$$\n- x\n+ y\n$$", "$$ x\n# y $$", "$$\n1. x\n2) y\n$$"),
    *("\\[\nx\n\\]", "\\\\[\nx\n- y\n\\\\]", "\\begin{align}\na &= b \\\\\n- c\n\\end{align}"),
    *("$$\n\\text{no words}\n$$", "$$\n* x\n* y\n$$", "$$\n    x\n$$", "$$\nx\n---\ny\n$$"),
    *("$$\n| x |\n$$", "$x\n= y$", "$$\n=\n$$"),
]  # fmt: skip
MONEY = ["$5 and $10", "US$5 or A$6", "$HOME", "$1.50 to $2", "\\$5", "$5-$6"]
LONE = ["5 $", "$ 5 and $ 6"]
"""Dollars that a formula with spaces inside its dollars would be read together with."""
CLOSINGS = [*".,;:!?)]\"'»”。", " and", "-ary", "th", "'s", "은", " ", ".) so", ", too", "…"]
OPENINGS = ["", "", "", "(", '"', "„", "«", "[see ", "non-", "**", "*"]
FORMULAS = re.compile(
    r"(?<!\\)("
    + "|".join(re.escape(f).replace("\\\n", r"\n[> ]*") for f in sorted(SINGLE + LONG, key=len, reverse=True))
    + ")"
)
CONTAINERS = [
    *(("", ""), ("", ""), ("- ", "  "), ("1. ", "   "), ("> ", "> "), ("> - ", ">   "), (": ", "  ")),
    *(("# ", None), ("| | ", None), ("[^1]: ", "    "), ("    ", None)),
]  # fmt: skip


def page(seed: int) -> Callable[[Callable[[str], str]], str]:
    """Return a function that writes the page of a seed with a function applied to its words."""

    def write(change: Callable[[str], str]) -> str:
        draw = random.Random(seed)
        return "\n\n".join(_block(draw, change) for _ in range(draw.randint(1, 5))) + "\n"

    return write


def _block(draw: random.Random, change: Callable[[str], str]) -> str:
    first, further = draw.choice(CONTAINERS[:-1])
    table = first == "| | "
    formulas = [f for f in SINGLE if not (table and "|" in f)] if further is None else SINGLE + LONG
    if draw.random() < 0.5:
        money, formulas = MONEY, formulas
    else:
        money, formulas = (
            MONEY + LONE,
            [formula for formula in formulas if " $" not in formula and "$ " not in formula],
        )
    parts = [change(draw.choice(["alpha", "beta gamma"]))] if draw.random() < 0.7 or further is None else []
    for _ in range(draw.randint(1, 4)):
        opening, formula, closing = draw.choice(OPENINGS), draw.choice(formulas), draw.choice(CLOSINGS)
        ending = {"[": "]", "*": opening, "(": ")"}.get(opening[:1], "")
        if formula == "$ n $" and closing[0].isascii():
            closing = " "  # "a $ n $th" may be two prices
        parts.append(f"{change(opening)}{formula}{ending}{change(closing)}")
        parts.append(change(draw.choice(["delta", "epsilon zeta", *money])))
    text = " ".join(parts)
    if further is not None:
        text = text.replace("\n", f"\n{further}")
    block = f"{first}{text}"
    return (
        f"| a | {change('b')} |\n|---|---|\n{block} |".replace("| a", f"| {change('a')}") if table else block
    )


def upper(folder: Path, name: str, text: str) -> str:
    """Return a document with the text of its segments in capitals."""
    (folder / name).write_text(text, encoding="utf-8")
    document = open_document(folder / name)
    targets = {
        segment.number: Markup.of(*(p.upper() if isinstance(p, str) else p for p in segment.source.pieces))
        for segment in document.segments
    }
    return document.render(targets).decode()


def words(text: str) -> list[str]:
    """Return what stands between white space: formulas as they are, other text without escapes and quotes."""
    parts = FORMULAS.split(text)
    escaped = (part if odd % 2 else re.sub(r"\\(?=[^\w\s])", "", part) for odd, part in enumerate(parts))
    return re.sub(r"^> ?|&#92;", "", "".join(escaped), flags=re.MULTILINE).split()


def check(folder: Path, seed: int) -> None:
    write = page(seed)
    page_of_seed = upper(folder, "a.md", write(str))
    assert words(page_of_seed) == words(write(str.upper)), write(str)


@pytest.mark.timeout(600)
def test_every_formula_stays_and_every_word_is_translated(tmp_path: Path) -> None:
    for seed in range(CASES):
        check(tmp_path, seed)


@pytest.mark.timeout(600)
def test_formulas_of_notebooks_stay(tmp_path: Path) -> None:
    for seed in range(CASES // 10):
        write = page(seed)
        cells = [{"cell_type": "markdown", "metadata": {}, "source": write(str).splitlines(keepends=True)}]
        notebook = json.loads(upper(tmp_path, "a.ipynb", json.dumps({"cells": cells, "nbformat": 4})))
        assert words("".join(notebook["cells"][0]["source"])) == words(write(str.upper))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a 0.3$x_1$ b$1$ non-$k$-means\n", "A 0.3$x_1$ B$1$ NON-$k$-MEANS\n"),
        ("a\n\n$$ x = y $$.\n\nb\n", "A\n\n$$ x = y $$.\n\nB\n"),
        ("a\n$$\nx = y\n$$.\n\nb\n\n$$\nz\n$$\n", "A\n$$\nx = y\n$$.\n\nB\n\n$$\nz\n$$\n"),
        ("a ($$\nx\n$$) b\n\nc\n\n$$\nz\n$$\n", "A ($$\nx\n$$) B\n\nC\n\n$$\nz\n$$\n"),
        ("$$\nx\n\ny = z\n$$ (eq:a)\nb\n", "$$\nx\n\ny = z\n$$ (eq:a)\nB\n"),
        ("$$\nx\n$$, so `$$` and `$x` b\n", "$$\nx\n$$, SO `$$` AND `$x` B\n"),
        ("\\begin{align}\nx\n\\end{align}.\nb\n", "\\begin{align}\nx\n\\end{align}.\nB\n"),
    ],
)
def test_a_displayed_formula_stands_anywhere_in_a_paragraph(
    source: str, expected: str, tmp_path: Path
) -> None:
    assert upper(tmp_path, "a.md", source) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("$$ no end\n\nb\n\n$$ c\n", "a $ b\n\nc $ d\n", "$5 and $10\n", "from $ 5 = x to $ 6\n",),
        *("$$\nno end here\n\nb c d\n\n$$\n", "\\[optional\\] a\n", "US$5 = A$6\n", "$ 5 $ a\n"),
    ],
)  # fmt: skip
def test_dollars_without_a_formula_are_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    assert not any(segment.source.tags for segment in open_document(tmp_path / "a.md").segments)
    assert words(upper(tmp_path, "a.md", text)) == words(text.upper())


@pytest.mark.timeout(60)
def test_five_hundred_formulas_in_a_paragraph_stay(tmp_path: Path) -> None:
    formulas = [f"$x_{{{number}}}$" for number in range(500)]
    text = " and ".join(formulas) + "\n"
    assert upper(tmp_path, "a.md", text) == text.replace("and", "AND")
