"""Shell of every page: one HTML file that loads nothing and runs only its own script."""

import base64
import hashlib
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from multihead.inspect import figures
from multihead.run import files

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """An HTML page; a notebook displays it inline.

    Attributes:
        html: the whole file.
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to a file. Raises ``UserError`` if it cannot be written."""
        files.write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, isolated from the notebook's styles and scripts."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:760px;border:0" title="attention"></iframe>'
        )


def shell(title: str, *, body: str, scripts: Sequence[Path], styles: Sequence[Path] = ()) -> HtmlPage:
    """Return a page.

    Its content security policy allows only these scripts, by hash, and no network requests.

    Args:
        title: window title, as text.
        body: markup.
        scripts: files, concatenated into one scope; a script may use the definitions of earlier scripts.
        styles: style sheets in addition to the common one.
    """
    script = "\n".join(["(() => {", '"use strict";', *map(asset, scripts), "})();"])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    page = Template(asset(HERE / "page.html")).substitute(
        title=html.escape(f"{figures.visible(title, 80)} · multihead"),
        digest=digest,
        style="\n".join(map(asset, (HERE / "page.css", *styles))),
        body=body,
        script=script,
    )
    return HtmlPage(page)


def asset(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8").strip()
