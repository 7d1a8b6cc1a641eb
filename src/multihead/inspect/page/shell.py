"""What all pages share: one HTML file that fetches nothing and runs nothing but its own script."""

import base64
import hashlib
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from multihead.inspect import pictures
from multihead.run import files

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Page:
    """A page. In a notebook it is shown in place.

    Attributes:
        html: the whole file.
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page. Raises ``UserError`` where the disk refuses."""
        files.write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, apart from the notebook's styles and scripts."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:760px;border:0" title="attention"></iframe>'
        )


def shell(title: str, *, body: str, scripts: Sequence[Path], styles: Sequence[Path] = ()) -> Page:
    """Return a page.

    Its security policy lets nothing run but the scripts, by their hash, and nothing be fetched.

    Args:
        title: of the window, as text.
        body: markup.
        scripts: files, one after the other in one scope; each may use what those before it define.
        styles: style sheets besides the one that all pages share.
    """
    script = "\n".join(["(() => {", '"use strict";', *map(asset, scripts), "})();"])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    filled = Template(asset(HERE / "page.html")).substitute(
        title=html.escape(f"{pictures.visible(title, 80)} · multihead"),
        digest=digest,
        style="\n".join(map(asset, (HERE / "page.css", *styles))),
        body=body,
        script=script,
    )
    return Page(filled)


def asset(path: Path) -> str:
    """The text of a file that stands in the package."""
    return path.read_text(encoding="utf-8").strip()
