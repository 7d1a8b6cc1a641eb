"""Faults of a page in a browser: those that axe-core finds, and content that is cut without a hint."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

axe = pytest.importorskip("axe_playwright_python", reason="no axe-core: pip install '.[browser]'")
AXE = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
VIOLATIONS = """axe.run(document, {iframes: false, preload: false}).then(({violations}) =>
  violations.flatMap(({id, nodes}) => nodes.map(({html}) => `${id}: ${html.slice(0, 200)}`)))"""
CUT = """() => [...document.body.querySelectorAll("*")].flatMap((element) => {
  const style = getComputedStyle(element);
  const name = `${element.localName}#${element.id}.${element.classList}`;
  if (element.closest("svg, math") && !element.matches("svg, math") || !element.checkVisibility()) return [];
  const hidden = element.scrollWidth > element.clientWidth + 1;
  const fades = ["--fade-start", "--fade-end"].some((side) => style.getPropertyValue(side) === "36px");
  if (/auto|scroll/.test(style.overflowX) && hidden && !fades) return [`scrolls without a hint: ${name}`];
  if (element.parentElement.closest(".scroll, .tabs, .formula, pre, #examples")) return [];
  const {left, right, width} = element.getBoundingClientRect();
  return width && (left < -1 || right > innerWidth + 1) ? [`wider than the window: ${name}`] : [];
})"""
"""A frame that scrolls announces hidden content by fading out (page/scroll.css)."""


def looks(page: Any, width: int) -> Iterator[str]:
    """Show a page in a window of this width, light and then dark, and on each of its tabs."""
    page.set_viewport_size({"width": width, "height": 840})
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for number in range(max(1, page.locator("[role=tab]").count())):
            for tab in page.locator("[role=tab]").all()[number : number + 1]:
                tab.click()
            page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))")
            yield f"{width} px, {theme}, tab {number}"


def faults(page: Any, width: int) -> list[str]:
    """Return the faults of a page in a window of this width."""
    page.evaluate(AXE)
    return [
        f"{look}: {fault}"
        for look in looks(page, width)
        for fault in [*page.evaluate(VIOLATIONS), *page.evaluate(CUT)]
    ]
