"""The documentation as a site: complete, without broken links, without a network."""

import html
import json
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from multihead import cli
from multihead.recipe import model_kinds, section_types

ROOT = Path(__file__).parents[2]
ANCHOR = re.compile(r'\bid="([^"]+)"')
LINK = re.compile(r'\b(?:href|src)="([^"]+)"')


def pages_of(site: Path) -> dict[str, str]:
    """Return the pages by path."""
    return {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")
    }


def broken(site: Path) -> list[str]:
    """Return the links that lead nowhere."""
    pages = pages_of(site)
    anchors = {name: set(map(html.unescape, ANCHOR.findall(page))) for name, page in pages.items()}
    lost = []
    for name, page in pages.items():
        for target in map(html.unescape, LINK.findall(page)):
            if re.match(r"(https?|data|mailto):", target):
                continue
            path, _, anchor = target.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if not (site / file).is_file():
                lost.append(f"{name}: {target}: no such page")
            elif anchor and unquote(anchor) not in anchors[file]:
                lost.append(f"{name}: {target}: no such heading")
    return lost


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    assert broken(site) == []


def test_a_broken_link_of_a_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(
        '<h1 id="top"></h1><a href="one.html#top"><a href="#no"><a href="two.html">', encoding="utf-8"
    )
    assert broken(tmp_path) == ["one.html: #no: no such heading", "one.html: two.html: no such page"]


def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert len(sources) > 40
    assert [path for path in sources if not (site / "docs" / path.with_suffix(".html")).exists()] == []


def test_the_navigation_leads_to_every_page_of_the_documentation(site: Path) -> None:
    homes = [(site / name).read_text(encoding="utf-8") for name in ("index.html", "README.ko.html")]
    linked = [set(LINK.findall(home[home.index("<nav ") :])) for home in homes]
    named = {path.relative_to(site).as_posix() for path in (site / "docs").rglob("*.html")}
    assert named - linked[0] - linked[1] == set()
    korean = {name for name in named if "/ko/" in name or name.endswith(".ko.html")}
    assert korean
    assert linked[0] & korean == set()
    translated = {name.replace("/ko/", "/en/").replace(".ko.html", ".html") for name in korean}
    assert linked[1] & named == named - translated


def test_the_navigation_of_a_korean_page_has_korean_headings(site: Path) -> None:
    page = (site / "docs/start/install.ko.html").read_text(encoding="utf-8")
    headings = re.findall("<summary>(.*?)</summary>", page)
    assert len(headings) == 6
    assert [heading for heading in headings if not re.search("[가-힣]", heading)] == []
    assert 'class="home" href="../../README.ko.html"' in page
    assert '<a class="next" href="your-corpus.ko.html">다음: 나의 말뭉치</a>' in page


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe|source)[^>]*src="https?:|<link[^>]*href="https?:|@import|url\('
    )
    for path in [*site.rglob("*.html"), *site.rglob("*.css"), site / "search.js"]:
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert loaded.search(text) is None, path


def test_the_reference_has_every_command_and_every_setting(site: Path) -> None:
    commands = (site / "reference/commands.html").read_text(encoding="utf-8")
    assert [name for name in cli.commands() if f'<h2 id="{name}">' not in commands] == []
    assert commands.count("usage: ") >= len(cli.commands())
    settings = (site / "reference/settings.html").read_text(encoding="utf-8")
    keys = {
        f"{name}.{key}"
        for kind in model_kinds.built_in()
        for name, section in section_types(kind).items()
        for key in section.model_fields
    }
    assert len(keys) > 100
    assert [key for key in sorted(keys) if f"<code>{key}</code>" not in settings] == []


def test_the_search_index_has_the_sections_of_both_languages(site: Path) -> None:
    text = (site / "search-data.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("window.PAGES = ").rstrip(";\n"))
    headings = {path: heading for _, heading, path, _, _ in index}
    assert headings["docs/start/your-corpus.ko.html#조각과-어휘-크기"] == "조각과 어휘 크기"
    found = {
        (language, "/ko/" in path or ".ko.html#" in path)
        for *_, path, text, language in index
        if "어텐션" in text
    }
    assert ("ko", True) in found
    assert found <= {("ko", True), ("en", False)}
    assert headings["reference/commands.html#translate"] == "multihead translate"
    assert headings["reference/api/nn.html#nn.attention.attention_weights"] == "attention_weights"


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("docs/course/en/05-self-attention.html", "docs/course/ko/05-self-attention.html"),
        ("docs/how-to/inspect.html", "docs/how-to/inspect.ko.html"),
        ("index.html", "README.ko.html"),
    ],
)
def test_a_page_links_to_the_other_language(site: Path, english: str, korean: str) -> None:
    pages = {"en": english, "ko": korean}
    for language, other, name in (("en", "ko", "한국어"), ("ko", "en", "English")):
        page = (site / pages[language]).read_text(encoding="utf-8")
        link = posixpath.relpath(pages[other], posixpath.dirname(pages[language]) or ".")
        assert f'<html lang="{language}">' in page
        assert f'<a class="twin" lang="{other}" hreflang="{other}" href="{link}">{name}</a>' in page


def test_no_formula_of_a_chapter_is_left_raw(site: Path) -> None:
    page = (site / "docs/course/ko/05-self-attention.html").read_text(encoding="utf-8")
    assert "<math" in page
    assert "\\frac" not in re.sub(r"<(code|pre|annotation)\b.*?</\1>", "", page, flags=re.DOTALL)
