"""One HTML file that shows all that a model did with one sentence; it needs no network."""

from multihead.inspect.page.exploring import Exploration, explore
from multihead.inspect.page.html import make_page
from multihead.inspect.page.listing import numbers_as_json
from multihead.inspect.page.shell import Page

__all__ = ["Exploration", "Page", "explore", "make_page", "numbers_as_json"]
