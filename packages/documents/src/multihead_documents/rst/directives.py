"""Directives of reStructuredText and MyST, fields and roles: which of them have text. Others are kept."""

from collections.abc import Iterator

_DIRECTIVES = """
# The text begins behind the name.
body - note warning tip hint important attention caution danger error seealso todo replace
body - epigraph highlights pull-quote compound parsed-paragraph
# A version, then the text.
version - versionadded versionchanged versionremoved deprecated
# A title, and text below it.
title text topic admonition sidebar tab-item tab card dropdown grid-item-card details collapse list-table
title text theorem lemma corollary proposition definition axiom assumption conjecture criterion observation
title text property remark example algorithm proof exercise exercise-start table
# A title alone.
title kept rubric centered contents csv-table
# No title, and text below.
kept text figure figure-md solution margin aside container div class only ifconfig tabs tab-set grid grid-item
kept text tabbed rst-class line-block
kept text function method attribute data module class exception decorator property classmethod staticmethod
kept text automodule autoclass autofunction automethod autodata autoexception autoattribute currentmodule
kept text option cmdoption program envvar confval describe object macro struct union enum enumerator member
kept text type var directive role deffield function-signature hlist
kept terms glossary
# Text in their options alone, or none.
kept kept image code-block sourcecode code literalinclude toctree thumbnail video mermaid nb-exec-table raw
kept kept code-cell python r julia ojs sql bash dot bibliography include math index tableofcontents highlight
kept kept solution-start solution-end exercise-end
"""


def _directives() -> Iterator[tuple[str, tuple[str, str]]]:
    for line in _DIRECTIVES.strip().split("\n"):
        argument, content, *names = line.split()
        if argument != "#":
            yield from ((name, (argument, content)) for name in names)


DIRECTIVES = dict(_directives())
"""Argument and content of each directive, by its name without domain. The rest is kept."""

OPTIONS = {"alt": "raw", "caption": "argument"}
"""Options of directives that are text. What is ``raw`` has no markup."""

FIELDS = frozenset(
    (
        *("abstract", "dedication", "summary", "description", "subject", "title", "note", "notes"),
        *("param", "parameter", "arg", "argument", "key", "keyword", "kwarg", "var", "ivar", "cvar"),
        *("raises", "raise", "except", "exception", "returns", "return", "yields", "yield"),
    )
)
"""First words of the names of fields that are text."""

TEXT_ROLES = frozenset(
    (
        *("emphasis", "strong", "sub", "sup", "subscript", "superscript", "title", "title-reference", "t"),
        *("guilabel", "dfn"),
    )
)
"""Roles whose whole content is text. Of others, that is the title in ``text <target>``."""
