"""Report that compares several runs."""

from multihead.inspect.page.shell import HtmlPage
from multihead.inspect.report.content import RunComparison
from multihead.inspect.report.curves import overlaid
from multihead.inspect.report.markup import Child, tag
from multihead.inspect.report.parts import report
from multihead.inspect.report.scoring import differences_card, length_card, scores_card
from multihead.inspect.report.sentences import alignments_card, sentences_card
from multihead.inspect.report.words import say


def compare_page(compared: RunComparison) -> HtmlPage:
    """Return a comparison as one HTML file that works offline."""
    runs, tests = compared.runs, compared.tests
    title = " · ".join(run.name for run in runs) if len(runs) <= 3 else say("{} runs", len(runs))
    names = ", ".join(test.name for test in tests)
    main: list[Child] = [
        tag("h1", title),
        tag(
            "p",
            say("on {}; baseline: {}", names, runs[0].name) if len(runs) > 1 else say("on {}", names),
            class_="sub",
        ),
        [tag("p", note, class_="note") for note in compared.notes],
    ]
    for number, test in enumerate(tests):
        first = number == 0
        main += [
            tag("h2", test.name, class_="test") if len(tests) > 1 else None,
            scores_card(runs, test),
            tag("div", length_card(runs, test), overlaid(runs) if first else None, class_="two"),
            alignments_card(runs, test),
            sentences_card(runs, test, number),
        ]
    main.append(differences_card(runs))
    foot = tag(
        "p",
        say(
            "Every run translated the same sentences with its own vocabulary and the search settings of its "
            "recipe, unless the command line set others."
        ),
    )
    return report(title, say("compare"), main, foot)
