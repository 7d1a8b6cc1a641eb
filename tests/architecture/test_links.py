"""Every relative link of the documentation leads to a file, and every anchor to a heading."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("README", "README.ko", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")
PAGES = [*(ROOT / f"{name}.md" for name in NAMES), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(\s*([^()\s]+)\s*\)")
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`[^`\n]+`")


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them: repeated ones end with -1, -2, ..."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", BLOCK.sub("", page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken(page: Path) -> Iterator[str]:
    """Yield each link of a page that leads nowhere."""
    for target in LINK.findall(INLINE.sub("", BLOCK.sub("", page.read_text(encoding="utf-8")))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            yield f"{page.name}: {target}: no such file"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{page.name}: {target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


@pytest.mark.parametrize("folder", ["src", "benchmarks", "native", "tests"])
def test_every_page_named_in_code_exists(folder: str) -> None:
    lost = [
        f"{file.relative_to(ROOT)}: {named}"
        for file in (ROOT / folder).rglob("*")
        if file.suffix in (".py", ".toml", ".h", ".cpp", ".md") and ".envs" not in file.parts
        for named in re.findall(r"\bdocs/[\w/-]+\.md", file.read_text(encoding="utf-8"))
        if not (ROOT / named).exists()
    ]
    assert lost == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A heading, twice\n# A heading, twice\n[`x`](page.md#a-heading-twice-1) `[no](link.md)` [y](https://no.where)\n"
        "[lost](lost.md) [lost](#no-heading)\n```\n[code](code.md)\n```\n",
        encoding="utf-8",
    )
    assert list(broken(page)) == [
        "page.md: lost.md: no such file",
        "page.md: #no-heading: no such heading",
    ]


def test_pages_have_links_to_check() -> None:
    counts = {
        page.relative_to(ROOT).as_posix(): len(LINK.findall(page.read_text(encoding="utf-8")))
        for page in PAGES
    }
    assert counts["README.md"] > 20
    assert counts["docs/explanation/papers.md"] > 40
