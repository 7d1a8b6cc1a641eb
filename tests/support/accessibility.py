"""Faults of a page in a browser: those that axe-core finds, and content that is cut without a hint.

The page is Playwright's, or a connection to Firefox (firefox.py).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

VIOLATIONS = """axe.run(document, {iframes: false, preload: false}).then(({violations}) =>
  violations.flatMap(({id, nodes}) => nodes.map(({html}) => `${id}: ${html.slice(0, 200)}`)))"""
CUT = """[...document.body.querySelectorAll("*")].flatMap((element) => {
  const style = getComputedStyle(element);
  const name = `${element.localName}#${element.id}.${element.classList}`;
  if (element.closest("svg, math") && !element.matches("svg, math") || !element.checkVisibility()) return [];
  const hidden = element.scrollWidth > element.clientWidth + 1;
  const fades = style.backgroundAttachment.includes("local") ||
    ["--fade-start", "--fade-end"].some((side) => style.getPropertyValue(side) === "36px");
  if (/auto|scroll/.test(style.overflowX) && hidden && !fades) return [`scrolls without a hint: ${name}`];
  const low = element.matches(".scroll, .tabs, .formula, pre, #examples")
    && element.scrollHeight > element.clientHeight;
  if (low && /auto|scroll/.test(style.overflowY)) return [`scrolls downwards too: ${name}`];
  if (element.parentElement.closest(".scroll, .tabs, .formula, pre, #examples")) return [];
  const {left, right, width} = element.getBoundingClientRect();
  return width && (left < -1 || right > innerWidth + 1) ? [`wider than the window: ${name}`] : [];
}).concat(document.scrollingElement.scrollWidth > innerWidth ? ["scrolls sideways"] : [])"""
"""A frame that scrolls announces hidden content by fading out, in Firefox by a shadow (page/scroll.css)."""
TABS = "document.querySelectorAll('[role=tab]')"
THEMES = ("light", "dark")


def looks(page: Any, width: int, themes: Sequence[str]) -> Iterator[str]:
    """Show a page in a window of this width, in each theme, and on each of its tabs."""
    page.set_viewport_size({"width": width, "height": 840})
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        for number in range(max(1, page.evaluate(f"{TABS}.length"))):
            page.evaluate(f"{TABS}[{number}]?.click()")
            page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))")
            yield f"{width} px, {theme}, tab {number}"


@cache
def axe() -> str:
    """Return the script of axe-core; without it, the test ends here as skipped."""
    package = pytest.importorskip("axe_playwright_python", reason="no axe-core: pip install '.[browser]'")
    return Path(package.__file__).with_name("axe.min.js").read_text(encoding="utf-8")


def faults(page: Any, width: int, themes: Sequence[str] = THEMES) -> list[str]:
    """Return the faults of a page in a window of this width."""
    page.evaluate(f"(() => {{ {axe()} }})()")
    return [
        f"{look}: {fault}"
        for look in looks(page, width, themes)
        for fault in [*page.evaluate(VIOLATIONS), *page.evaluate(CUT)]
    ]


PRESS = """(async () => {
  const buttons = document.querySelectorAll("button:not([role=tab]), summary, main label:has(input)");
  for (const button of [...buttons]) {
    if (button.isConnected && button.checkVisibility() && !button.disabled) button.click();
    await new Promise((done) => setTimeout(done, 10));
  }
})()"""


def faults_in_firefox(firefox: Any) -> list[str]:
    """Return the faults of a page in Firefox, and the errors reported until all its buttons are pressed."""
    looked = [*faults(firefox, 390, ["light"]), *faults(firefox, 1280, ["dark"])]
    for number in range(max(1, firefox.evaluate(f"{TABS}.length"))):
        firefox.evaluate(f"{TABS}[{number}]?.click()")
        firefox.evaluate(PRESS)
    return [*looked, *firefox.errors()]
