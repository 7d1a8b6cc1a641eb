"""Format strings: a translation is filled by the same arguments, as msgfmt checks it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from multihead.text.format_strings import faults, is_format_string, number, without_numbers
from multihead.text.placeholder_patterns import Kind, find


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("%s of %d", "%s von %d"),
        ("%s of %d", "%2$d von %1$s"),
        ("%2$d of %1$s", "%1$s von %2$d"),
        ("%5.2f %s", "%f %s"),
        ("100%% of %d", "100%% von %d"),
        ("%(n)d of %(name)s", "%(name)s: %(n)d"),
        ("%<PRIu64> bytes", "%<PRIu64> Bytes"),
        ("%*d %s", "%*d %s"),
        ("50 % of", "von 50 % der"),
        ("{name} {n}", "{n} {name}"),
        ("{} {}", "{1} {0}"),
    ],
)
def test_a_translation_with_the_same_arguments_has_no_fault(source: str, target: str) -> None:
    assert faults(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "fault"),
    [
        ("%s of %d", "%d von %s", "argument 1 is %d in place of %s"),
        ("%s of %d", "%s", "argument 2 is missing in place of %d"),
        ("%s", "%s %s", "argument 2 is %s in place of none"),
        ("100%% of %d", "100% von %d", '"%%" is there 0 times in place of 1'),
        ("%d %%", "%d %", '"%%" is there 0 times in place of 1'),
        ("%(n)d", "%(m)d", "argument n is missing in place of %d"),
        ("%ld", "%d", "argument 1 is %d in place of %ld"),
        ("%<PRIu64>", "%d", "argument 1 is %d in place of %<PRIu64>"),
        ("{name}", "{n}", "{name} is missing"),
        ("{} {}", "{}", "argument 1 is missing in place of {}"),
    ],
)
def test_a_translation_with_other_arguments_has_a_fault(source: str, target: str, fault: str) -> None:
    assert faults(source, target)[0] == fault


def test_qt_numbers_its_arguments() -> None:
    assert faults("%1 of %2, %n", "%n, %2 of %1", is_qt=True) == []
    assert faults("%1 of %2", "%1", is_qt=True) == ["argument 2 is missing in place of %2"]


def test_directives_are_numbered_while_they_are_translated() -> None:
    assert number("%s, %d and %% {} {}") == "%1$s, %2$d and %% {0} {1}"
    assert without_numbers("%1$s x %2$d", "%s %d", may_number=True) == "%s x %d"
    assert without_numbers("%2$d x %1$s", "%s %d", may_number=True) == "%2$d x %1$s"
    assert without_numbers("%2$d x %1$s", "%s %d") == "%d x %s"
    assert without_numbers("{1} x {0}", "{} {}", may_number=True) == "{1} x {0}"


@pytest.mark.parametrize("text", ["%s", "%1$s %2$s", "%*d %s", "%(a)s %(b)s", "100 %% {name}", "{0} {1}"])
def test_one_directive_and_those_with_names_are_not_numbered(text: str) -> None:
    assert number(text) == text


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("100%% x", ["100", "%%"]),
        ("100% x", ["100%"]),
        ("5 %d x", ["5", "%d"]),
        ("100%s", ["100", "%s"]),
        ("100%ige x", ["100%"]),
        ("%<PRIu64> x", ["%<PRIu64>"]),
        ("%-5<PRIx32>", ["%-5<PRIx32>"]),
        ("50 % von", ["50 %"]),
    ],
)
def test_a_percent_sign_belongs_to_a_number_or_a_directive(text: str, spans: list[str]) -> None:
    kinds: list[Kind] = ["printf", "number", "integer"]
    assert [span.text for span in find(text, kinds)] == spans


def test_a_percentage_is_no_format_string() -> None:
    assert not is_format_string("100 % der Hunde")
    assert is_format_string("%d%% der Hunde")


MESSAGES = ["%s of %d", "%d files", "100%% of %s", "%2$s %1$d", "%ld %%", "%s %s", "%-5d %s"]
TARGETS = [
    "%s %d",
    "%d %s",
    "%2$d %1$s",
    "%d",
    "100% %s",
    "100%% %s",
    "%1$d %2$s",
    "%ld %%",
    "%s",
    "%s %s",
    "%d %d",
]


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="msgfmt is not installed")
def test_what_has_no_fault_is_accepted_by_msgfmt(tmp_path: Path) -> None:
    for source in MESSAGES:
        for target in TARGETS:
            path = tmp_path / "a.po"
            path.write_text(
                'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
                f'#, c-format\nmsgid "{source}"\nmsgstr "{target}"\n',
                encoding="utf-8",
            )
            command = ["msgfmt", "--check-format", "-o", str(tmp_path / "a.mo"), str(path)]
            refused = subprocess.run(command, capture_output=True, check=False).returncode
            if refused:
                assert faults(source, target), (source, target)
            elif source.count("%%") == target.count("%%"):
                assert not faults(source, target), (source, target)
