"""Reports as pages: how one training went, and how several runs compare. They need no network."""

from multihead.inspect.report.comparison import compare_page
from multihead.inspect.report.content import Compared, Example, Looked, Measured, OnTest, RunFacts, facts
from multihead.inspect.report.training import training_page

__all__ = [
    "Compared",
    "Example",
    "Looked",
    "Measured",
    "OnTest",
    "RunFacts",
    "compare_page",
    "facts",
    "training_page",
]
