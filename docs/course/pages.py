"""Web pages of executed chapters: one HTML file each, with formulas as MathML, without scripts."""

import base64
import html
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

HERE = Path(__file__).parent
STYLE = "\n".join(
    file.read_text(encoding="utf-8")
    for file in (HERE / "page.css", HERE.parents[1] / "src" / "multihead" / "inspect" / "page" / "scroll.css")
)
WORDS = {
    "en": {
        "course": "The course",
        "other": "한국어",
        "title": "Attention models, a course that runs",
        "live": "The live page of a small translator",
        "window": "Open it in a window of its own",
    },
    "ko": {
        "course": "강의 차례",
        "other": "English",
        "title": "어텐션 모델, 실행되는 강의",
        "live": "작은 번역 모델의 라이브 페이지",
        "window": "새 창에서 열기",
    },
}
LIVE = re.compile(r'<div class="live" data-show="([^"]*)">(.*?)</div>', re.DOTALL)
"""A part of a chapter that the live page illustrates; data-show is what the page opens with."""
MATH = re.compile(r"\$\$(.+?)\$\$|(?<![\\$A-Za-z0-9])\$((?:(?!\n\n)[^$])+?)\$(?![A-Za-z0-9])", re.DOTALL)
SOURCE = re.compile(r"\s*(@|def |class )")
"""Beginning of an output that is the source of a function or a class."""
SCROLLING = '<div class="scroll" tabindex="0">'
"""Frame of what may be wider than a page; it scrolls, also by keyboard."""
FENCE = re.compile(r"^```.*?^```\s*$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def page(notebook: Any, path: Path) -> str:
    """Return a chapter as one HTML page, with the live page beside its folder inside."""
    return _framed(title(path), with_live_page(body(notebook), path.parent.name, "../live.html"), path)


def body(notebook: Any) -> str:
    """Return the cells of a chapter and their outputs as HTML."""
    return "".join(
        _code(cell) if cell.cell_type == "code" else render(cell.source) for cell in notebook.cells
    )


def with_live_page(body: str, language: str, address: str | None) -> str:
    """Put the live page into the parts of a chapter that ask for it.

    Args:
        body: a chapter as HTML.
        language: of the chapter, and of the live page.
        address: of the live page, seen from the chapter; None: there is none, and the text stands alone.
    """
    if address is None:
        return body
    words = WORDS[language]

    def framed_page(part: re.Match[str]) -> str:
        target = f"{address}#language={language}&amp;{part[1]}"
        return (
            f'<div class="live">{part[2]}'
            f'<iframe src="{target}" loading="lazy" title="{words["live"]}"></iframe>'
            f'<p><a href="{target}" target="_blank">{words["window"]}</a></p></div>'
        )

    return LIVE.sub(framed_page, body)


def index(paths: Sequence[Path], language: str) -> str:
    """Return the table of contents."""
    rows = "".join(f'<li><a href="{path.stem}.html">{html.escape(title(path))}</a></li>' for path in paths)
    words = WORDS[language]
    body = f"<h1>{words['title']}</h1><ul class='chapters'>{rows}</ul>"
    return _framed(words["title"], body, Path(language) / "index.md")


def title(path: Path) -> str:
    """Return the first heading of a chapter."""
    found = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, path
    return found[1]


def render(text: str) -> str:
    """Return Markdown as HTML; formulas become MathML."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\x00{len(kept) - 1}\x00"

    def formula(found: re.Match[str]) -> str:
        if found[1] is None:
            return convert(found[2], display="inline")
        return f'<span class="formula" tabindex="0">{convert(found[1], display="block")}</span>'

    marked = MATH.sub(formula, FENCE.sub(keep, text))
    text = re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], marked)
    markdown = MarkdownIt("commonmark", {"html": True, "highlight": _highlighted}).enable(["table"])
    body = re.sub(r'href="([0-9][^":]*)\.md', r'href="\1.html', markdown.render(text))
    body = body.replace("<table>", f"{SCROLLING}<table>").replace("</table>", "</table></div>")
    return body.replace("<th></th>", "<td></td>")


def _code(cell: Any) -> str:
    return f'<div class="cell">{_highlighted(cell.source, "python", "")}{"".join(_outputs(cell))}</div>'


def _outputs(cell: Any) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "stream" and SOURCE.match(output.text):
            code = textwrap.dedent(output.text)
            yield f"<div class='source'>{_highlighted(code, 'python', '')}</div>"
        elif output.output_type == "stream":
            yield f"<pre class='output' tabindex='0'>{html.escape(output.text.rstrip())}</pre>"
        elif "data" in output:
            if "image/svg+xml" in output.data:
                yield _svg(output.data["image/svg+xml"])
            elif "image/png" in output.data:
                image = output.data["image/png"].strip()
                yield f'<img src="data:image/png;base64,{image}" alt="">'
            elif "text/plain" in output.data:
                yield f"<pre class='output' tabindex='0'>{html.escape(output.data['text/plain'])}</pre>"


def _svg(drawing: str) -> str:
    """Return a drawing as an image, with its title for those who cannot see it."""
    found = re.search(r"<title>(.*?)</title>", drawing, re.DOTALL)
    content = base64.b64encode(drawing.encode()).decode("ascii")
    alternative = found[1].strip() if found else ""
    return f'<img src="data:image/svg+xml;base64,{content}" alt="{alternative}">'


def _highlighted(code: str, language: str, _: str) -> str:
    if not language.startswith("python"):
        return f'<pre tabindex="0">{html.escape(code)}</pre>'
    return str(highlight(code, PythonLexer(), HtmlFormatter(nobackground=True)))


def colours() -> str:
    """Return the style sheet of highlighted code, light and dark."""
    light, dark = (
        HtmlFormatter(style=style).get_style_defs(".highlight") for style in ("default", "monokai")
    )
    dark = re.sub(r"background(-color)?:[^;}]*;?", "", dark)
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}"


def _framed(heading: str, body: str, path: Path) -> str:
    language = path.parent.name
    words = WORDS[language]
    other = "ko" if language == "en" else "en"
    name = path.stem
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(heading)}</title><style>{colours()}\n{STYLE}</style></head><body>"
        f'<nav><a href="index.html">{words["course"]}</a>'
        f'<a href="../{other}/{name}.html" lang="{other}">{words["other"]}</a></nav>'
        f"<main>{body}</main></body></html>\n"
    )
