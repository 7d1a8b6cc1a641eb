"""The frame of a page of the documentation: navigation, search box, style; relative links throughout."""

import html
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORDS = {
    "en": {
        "language": "English",
        "home": "index.html",
        "contents": "Contents",
        "search": "Search",
        "none": "Nothing found",
        "next": "Next",
        "previous": "Previous",
    },
    "ko": {
        "language": "한국어",
        "home": "README.ko.html",
        "contents": "차례",
        "search": "검색",
        "none": "찾은 것이 없습니다",
        "next": "다음",
        "previous": "이전",
        "Start": "시작",
        "How to": "하는 법",
        "Course": "강의",
        "Reference": "참고",
        "Explanation": "설명",
        "Changing it": "개발과 기여",
    },
}
"""Words of the frame; the Korean ones include the headings of the navigation."""
HEADING = re.compile(r"<h([1-6])( id=\"[^\"]*\")?>(.*?)</h\1>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True)
class Page:
    """One page of the site.

    Attributes:
        path: where it is written, relative to the site, "docs/serve.html".
        title: its first heading, as text.
        body: HTML.
        group: its heading in the navigation; "" keeps it out.
    """

    path: str
    title: str
    body: str
    group: str = ""

    @property
    def language(self) -> str:
        """Language of the text."""
        return "en" if self.path == self.english else "ko"

    @property
    def english(self) -> str:
        """Path of the page in English, whether or not there is one."""
        path = self.path.replace("/ko/", "/en/").replace("README.ko.html", "index.html")
        return path.replace(".ko.html", ".html")


def with_anchors(body: str) -> str:
    """Give every heading the anchor that GitHub would give it; repeated ones end with -1, -2, ..."""
    seen: Counter[str] = Counter()

    def named(found: re.Match[str]) -> str:
        if found[2]:
            return found[0]
        text = html.unescape(TAG.sub("", found[3])).lower()
        slug = re.sub(r"[^\w -]", "", text).replace(" ", "-")
        anchor = f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1
        return f'<h{found[1]} id="{html.escape(anchor)}">{found[3]}</h{found[1]}>'

    return HEADING.sub(named, body)


def sections(page: Page) -> list[tuple[str, str, str]]:
    """Return (anchor, heading, text) of each part of a page, for the search."""
    parts, found = [], list(HEADING.finditer(page.body))
    for number, heading in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(page.body)
        text = re.sub(r'<img src="data:[^"]*"[^>]*>', "", page.body[heading.end() : end])
        anchor = (heading[2] or "").removeprefix(' id="').rstrip('"')
        parts.append((anchor, _text(heading[3]), _text(text)))
    return parts


def _text(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(TAG.sub(" ", markup))).strip()


def framed(page: Page, groups: Mapping[str, Sequence[Page]]) -> str:
    """Return a page with navigation and search box."""
    words = WORDS[page.language]
    root = relative(page.path, ".")
    link = _twin(page, groups)
    groups = in_language(page.language, groups)
    head = (
        f'<!doctype html><html lang="{page.language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{html.escape(page.title)} - multihead</title><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{root}/site.css"></head>'
    )
    top = (
        f'<header><a class="home" href="{root}/{words["home"]}">multihead</a>'
        f'<div class="search"><input type="search" id="search" placeholder="{words["search"]}" '
        f'aria-label="{words["search"]}" autocomplete="off" data-root="{root}" data-none="{words["none"]}">'
        f'<ol id="found" hidden></ol></div>{link}'
        f'<a class="jump" href="#contents">{words["contents"]}</a></header>'
    )
    return (
        f"{head}<body>{top}<div class='columns'><main>{page.body}{_neighbours(page, groups)}</main>"
        f'<nav id="contents" aria-label="{words["contents"]}">{_navigation(page, groups)}</nav></div>'
        f'<script src="{root}/search.js"></script></body></html>\n'
    )


def in_language(language: str, groups: Mapping[str, Sequence[Page]]) -> dict[str, list[Page]]:
    """Return the pages of each group in a language, then those that only the other one has."""
    translated = {page.english for pages in groups.values() for page in pages if page.language == language}
    return {
        group: [page for page in pages if page.language == language]
        + [page for page in pages if page.english not in translated]
        for group, pages in groups.items()
    }


def _twin(page: Page, groups: Mapping[str, Sequence[Page]]) -> str:
    """Return a link to the same page in the other language, if there is one."""
    for other in (other for pages in groups.values() for other in pages):
        if other.english == page.english and other.language != page.language:
            language, target = other.language, relative(page.path, other.path)
            name = WORDS[language]["language"]
            return f'<a class="twin" lang="{language}" hreflang="{language}" href="{target}">{name}</a>'
    return ""


def relative(start: str, target: str) -> str:
    """Return the path to a page as a link from another page."""
    return posixpath.relpath(target, posixpath.dirname(start) or ".")


def _navigation(page: Page, groups: Mapping[str, Sequence[Page]]) -> str:
    words, parts = WORDS[page.language], []
    for group, pages in groups.items():
        items = "".join(_item(page, other) for other in pages)
        here = " open" if page.group == group or group == next(iter(groups)) else ""
        heading = html.escape(words.get(group, group))
        parts.append(f"<details{here}><summary>{heading}</summary><ul>{items}</ul></details>")
    return "".join(parts)


def _item(page: Page, other: Page) -> str:
    link = f'<a href="{relative(page.path, other.path)}" lang="{other.language}"'
    if other.path != page.path:
        return f"<li>{link}>{html.escape(other.title)}</a></li>"
    inner = "".join(
        f'<li><a href="#{found[2][5:-1]}">{TAG.sub("", found[3])}</a></li>'
        for found in HEADING.finditer(page.body)
        if found[1] == "2" and found[2]
    )
    return f'<li>{link} aria-current="page">{html.escape(other.title)}</a><ul>{inner}</ul></li>'


def _neighbours(page: Page, groups: Mapping[str, Sequence[Page]]) -> str:
    pages = list(groups.get(page.group, ()))
    place = next((number for number, other in enumerate(pages) if other.path == page.path), None)
    if place is None:
        return ""
    words, links = WORDS[page.language], []
    for word, number in (("previous", place - 1), ("next", place + 1)):
        if 0 <= number < len(pages):
            other = pages[number]
            target = relative(page.path, other.path)
            links.append(f'<a class="{word}" href="{target}">{words[word]}: {html.escape(other.title)}</a>')
    return f"<p class='neighbours'>{''.join(links)}</p>"
