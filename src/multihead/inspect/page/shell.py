"""Shell of every page: one HTML file that loads nothing and runs only its own script."""

import base64
import gzip
import hashlib
import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from multihead.inspect import figures
from multihead.run import files

HERE = Path(__file__).parent
STYLES = (HERE / "page.css", HERE / "scroll.css")
"""Style sheets of every page."""
NOTEBOOK_BYTES = 200_000
"""Size of a page above which a notebook displays its figure instead: a notebook stores what it displays."""
UNPACK = """\
<script>
const packed = Uint8Array.from(atob("{}"), (char) => char.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
new Response(stream).text().then((page) => {{ document.open(); document.write(page); document.close(); }});
</script>"""
"""Page that replaces itself by a compressed one."""


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """An HTML page; a notebook displays it inline.

    Attributes:
        html: the whole file.
        figure: draws its main figure as PNG.
    """

    html: str
    figure: Callable[[], bytes] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f'<HtmlPage of {len(self.html):,} characters; save("page.html") writes it>'

    def save(self, path: str | Path) -> None:
        """Write the page to a file. Raises ``UserError`` if it cannot be written."""
        files.write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        """Return the page, compressed, in an iframe isolated from the notebook; its figure if it is large."""
        packed = base64.b64encode(gzip.compress(self.html.encode(), mtime=0)).decode("ascii")
        frame = (
            f'<iframe srcdoc="{html.escape(UNPACK.format(packed))}" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:760px;border:0" title="attention"></iframe>'
        )
        if len(frame) <= NOTEBOOK_BYTES:
            return frame
        image = ""
        if self.figure:
            data = base64.b64encode(self.figure()).decode("ascii")
            image = f'<img src="data:image/png;base64,{data}" style="max-width:100%" alt="attention">'
            image = image if len(image) <= NOTEBOOK_BYTES - 1000 else ""
        return f'{image}<p>Too large for a notebook: <code>save("page.html")</code> writes the page.</p>'


def shell(title: str, *, body: str, scripts: Sequence[Path], styles: Sequence[Path] = ()) -> HtmlPage:
    """Return a page.

    Its content security policy allows only these scripts, by hash, and no network requests.

    Args:
        title: window title, as text.
        body: markup.
        scripts: files, concatenated into one scope; a script may use the definitions of earlier scripts.
        styles: style sheets in addition to the common one.
    """
    script = join_scripts(scripts)
    page = Template(asset(HERE / "page.html")).substitute(
        title=html.escape(f"{figures.visible(title, 80)} · multihead"),
        digest=digest(script),
        style="\n".join(map(asset, (*STYLES, *styles))),
        body=body,
        script=script,
    )
    return HtmlPage(page)


def join_scripts(files: Sequence[Path], before: str = "") -> str:
    """Return files as one script with a scope of its own."""
    return "\n".join(["(() => {", '"use strict";', *filter(None, [before]), *map(asset, files), "})();"])


def digest(content: str) -> str:
    """Return a script's or style's hash as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")


def asset(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8").strip()
