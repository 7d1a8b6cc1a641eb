"""Interactive HTML page of one inspection: a single file that works offline."""

from multihead.inspect.page.html import make_page
from multihead.inspect.page.json_export import as_json
from multihead.inspect.page.sequence import PageOptions, SequenceExploration, explore_text
from multihead.inspect.page.shell import HtmlPage

__all__ = [
    "HtmlPage",
    "PageOptions",
    "SequenceExploration",
    "as_json",
    "explore_text",
    "make_page",
]
