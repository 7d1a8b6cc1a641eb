"""Building blocks of reports: cards, tables and folded sections."""

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from multihead.inspect.page.shell import HtmlPage, shell
from multihead.inspect.report.markup import Child, SafeHtml, join, tag

HERE = Path(__file__).parent


def report(title: str, kind: str, main: Child, foot: Child, styles: Sequence[Path] = ()) -> HtmlPage:
    """Return a report page.

    Args:
        title: window title.
        kind: type of report, shown next to the program's name.
        main: content.
        foot: footer.
        styles: style sheets in addition to those of reports.
    """
    theme = [
        tag("button", type="button", class_="plain", id="language", hidden=True),
        tag("button", type="button", class_="plain", id="theme", hidden=True),
    ]
    brand = tag(
        "div", tag("b", "multihead"), tag("span", kind), tag("span", class_="gap"), theme, class_="brand"
    )
    body = join([tag("header", brand), tag("main", main), tag("footer", foot)])
    return shell(title, body=body, scripts=[HERE / "report.js"], styles=[HERE / "report.css", *styles])


def card(title: str, *content: Child, lead: str = "") -> SafeHtml:
    """Return a titled section, or nothing if it has no content."""
    inside = join(content)
    if not inside:
        return inside
    return tag(
        "section", tag("h2", title), inside, tag("p", lead, class_="lead") if lead else None, class_="card"
    )


def facts_table(rows: Iterable[tuple[str, Child]]) -> SafeHtml:
    """Return names and values as a table, or nothing if there are none."""
    cells = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in rows]
    return tag("table", cells, class_="facts") if cells else SafeHtml()


def table(head: Sequence[str], rows: Iterable[Sequence[Child]]) -> SafeHtml:
    """Return a plain table; the first cell of a row is its header."""
    return tag(
        "table",
        tag("thead", tag("tr", [tag("th", name, scope="col") for name in head])),
        tag(
            "tbody",
            [
                tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]])
                for row in rows
            ],
        ),
    )


def fold(summary: str, content: Child, *, open_: bool = False) -> SafeHtml:
    """Return content that is hidden behind a summary."""
    return tag("details", tag("summary", summary), content, open=open_)


def scrolling(content: Child, name: str) -> SafeHtml:
    """Return wide content in a frame that scrolls, also by keyboard."""
    return tag("div", content, class_="scroll", tabindex="0", role="group", aria_label=name)


def png_image(content: bytes, alternative: str, class_: str) -> SafeHtml:
    """Return an image with its data inside; ``tag`` would cut so long an attribute."""
    data = base64.b64encode(content).decode("ascii")
    return SafeHtml(
        f'<img class="{class_}" alt="{html.escape(alternative)}" src="data:image/png;base64,{data}">'
    )


def duration(seconds: float) -> str:
    """Return a human-readable duration: ``42.0 s``, ``12.1 min``, ``3.4 h``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
