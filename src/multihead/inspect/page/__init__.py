"""Interactive HTML page of one inspection: a single file that works offline."""

from multihead.inspect.page.html import make_page
from multihead.inspect.page.json_export import as_json
from multihead.inspect.page.sequence import PageOptions, SequenceExploration, explore_text
from multihead.inspect.page.shell import HtmlPage
from multihead.tasks.translation.page import Exploration, explore, numbers_as_json

__all__ = [
    "Exploration",
    "HtmlPage",
    "PageOptions",
    "SequenceExploration",
    "as_json",
    "explore",
    "explore_text",
    "make_page",
    "numbers_as_json",
]
