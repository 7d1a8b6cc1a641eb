"""HTML reports of one training or of several compared runs. They work offline."""

from multihead.inspect.report.comparison import compare_page
from multihead.inspect.report.content import (
    AlignedSentence,
    RunComparison,
    RunFacts,
    RunScores,
    TestSetResults,
    TranslatedExample,
    facts,
)
from multihead.inspect.report.training import training_page

__all__ = [
    "AlignedSentence",
    "RunComparison",
    "RunFacts",
    "RunScores",
    "TestSetResults",
    "TranslatedExample",
    "compare_page",
    "facts",
    "training_page",
]
