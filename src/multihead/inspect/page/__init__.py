"""One HTML file that shows all that a model did with a sentence, a text or a picture; it needs no network."""

from multihead.inspect.page.exploring import Exploration, explore
from multihead.inspect.page.html import make_page
from multihead.inspect.page.listing import as_json, numbers_as_json
from multihead.inspect.page.sequence import Asked, SequenceExploration, explore_reading
from multihead.inspect.page.shell import Page

__all__ = [
    "Asked",
    "Exploration",
    "Page",
    "SequenceExploration",
    "as_json",
    "explore",
    "explore_reading",
    "make_page",
    "numbers_as_json",
]
