"""The words of the pages: each text is in English and in Korean, with the same values."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from multihead.inspect import korean
from multihead.inspect.page import kinds
from multihead.inspect.report.markup import tag
from multihead.inspect.report.words import say, translate_known
from multihead.inspect.text_inspection import BEYOND_LIMIT
from multihead.recipe import tasks
from multihead.run.environment import environment
from multihead.text.cleaning import Reason

INSPECT = Path(korean.__file__).parent
SCRIPTS = INSPECT / "page" / "scripts"
NAMED = {"BEYOND_LIMIT": BEYOND_LIMIT}
LABELS = ("title", "name", "lead", "short", "row", "column", "unit")


def spoken(script: str) -> Iterator[str]:
    """Yield the key of every t`text ${value}` of a script."""
    for found in re.finditer(r"\bt`", script):
        yield template(script, found.end())[0]


def template(script: str, at: int) -> tuple[str, int]:
    """Return a template literal's text, with {} for its values, and its end."""
    key, depth = "", 0
    while depth or script[at] != "`":
        if not depth and script.startswith("${", at):
            key, depth, at = key + "{}", 1, at + 2
        elif depth and script[at] == "`":
            at = template(script, at + 1)[1] + 1
        else:
            depth += {"{": 1, "}": -1}.get(script[at], 0) if depth else 0
            key += "" if depth or script[at] == "}" else script[at]
            at += 1
    return key, at


def placeholders(text: str) -> int:
    return len(re.findall(r"\{\d*\}", text))


def written() -> set[str]:
    """Return the texts that the scripts of the page write."""
    scripts = [path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js")]
    return {key for script in scripts for key in spoken(script)}


def of_kinds() -> set[str]:
    """Return the labels of the kinds of attention."""
    every = [*kinds.TRANSLATION, kinds.CAUSAL, kinds.BIDIRECTIONAL, kinds.PATCHES, kinds.DRAWING]
    return {one[label] for one in every for label in LABELS if one[label]}


def titles() -> set[str]:
    """Return the titles of the tabs."""
    scripts = [path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js")]
    return {title for script in scripts for title in re.findall(r'^  title: "([^"]+)"', script, re.MULTILINE)}


@cache
def of_python() -> set[str]:
    """Return what Python hands to the page to translate: phrases, labels of the heading, predictions."""
    found: set[str] = set()
    inspecting = [*INSPECT.rglob("*.py"), *(INSPECT.parent / "tasks").rglob("*.py")]
    for path in inspecting:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in ("phrase", "Predictions"):
                    found |= {str(text.value) for text in node.args[:1] if isinstance(text, ast.Constant)}
                if node.func.id == "phrase":
                    found |= {NAMED[text.id] for text in node.args[:1] if isinstance(text, ast.Name)}
            if isinstance(node, ast.keyword) and node.arg == "heading" and isinstance(node.value, ast.List):
                pairs = [one for one in node.value.elts if isinstance(one, ast.Tuple)]
                found |= {str(one.elts[0].value) for one in pairs if isinstance(one.elts[0], ast.Constant)}
    return found


def test_a_template_with_values_is_read() -> None:
    script = "h(t`Layer ${layers({ a: `x${1}` })}, head ${head}`, t`plain`)"
    assert list(spoken(script)) == ["Layer {}, head {}", "plain"]


def test_every_text_of_the_page_has_its_korean() -> None:
    texts = written() | of_kinds() | titles() | of_python()
    assert len(texts) > 150
    assert {"Model", "odd one", "tags", "attention of layer {}", BEYOND_LIMIT} <= texts
    assert texts - korean.PAGE.keys() == set()


def test_no_text_of_the_page_is_in_korean_only() -> None:
    sources = [*SCRIPTS.glob("*.js"), *INSPECT.glob("*.py"), *(INSPECT / "page").glob("*.py")]
    sources += [*(INSPECT / "maps").glob("*.py"), *(INSPECT.parent / "tasks").rglob("*.py")]
    sources.append(INSPECT.parent / "nn" / "parts" / "pooling.py")  # the names of readouts
    plain = "\n".join(path.read_text(encoding="utf-8") for path in sources if path.name != "korean.py")
    beside = {key for key in korean.PAGE if f'"{key}"' in plain}
    assert korean.PAGE.keys() - written() - of_kinds() - titles() - of_python() - beside == set()


@pytest.mark.parametrize("words", [korean.PAGE, korean.REPORT], ids=["page", "report"])
def test_both_languages_of_a_text_have_the_same_values(words: dict[str, str]) -> None:
    assert [key for key, text in words.items() if placeholders(key) != placeholders(text)] == []
    foreign = {key for key, text in words.items() if not re.search("[가-힣]", text)}
    assert {key for key in foreign if re.search("[A-Za-z]{3}", key)} == set()


def from_elsewhere() -> set[str]:
    """Return the names of facts that a report shows: tasks, units, reasons of cleaning, the machine."""
    names = set(tasks.names())
    units = {tasks.get_task(name).speed_unit for name in names}
    machine = {name.replace("_", " ").replace("gib", "(GiB)") for name in environment()["machine"]} - {"gpus"}
    return names | units | machine | set(get_args(Reason)) | {"pairs", "texts", "products"}


def test_every_name_of_a_fact_in_a_report_has_its_korean() -> None:
    assert from_elsewhere() - korean.REPORT.keys() == set()


def test_every_text_of_a_report_has_its_korean_and_none_is_in_korean_only() -> None:
    said: set[object] = set()
    others = ""
    package = INSPECT.parent
    reports = (
        package / "tasks" / "detection" / "inspection.py",
        package / "tasks" / "drawing" / "gallery.py",
        *(package / "apps/studies/sweep").glob("*.py"),
    )
    for path in (*(INSPECT / "report").glob("*.py"), *reports):
        if path.name in ("korean.py", "words.py"):
            continue
        source = path.read_text(encoding="utf-8")
        others += source
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                said |= {text.value for text in node.args[:1] if isinstance(text, ast.Constant)}
    assert len(said) > 50
    assert said - korean.REPORT.keys() == set()
    # The rest is a title of a chart, a name of a metric or a fact, or ends with the caution.
    names = {"loss", "accuracy", "perplexity"} | from_elsewhere()
    rest = {key for key in korean.REPORT if key not in said and f'"{key}"' not in others} - names
    assert [key for key in rest if "not why it produced" not in key] == []


def test_a_text_of_a_report_carries_both_languages_into_the_page() -> None:
    assert tag("p", say("{} better than {}", "a", "<b>")) == (
        '<p data-ko="a이(가) &lt;b&gt;보다 나은 것">a better than &lt;b&gt;</p>'
    )
    assert tag("p", say("source"), ": ", "x") == '<p><span data-ko="원문">source</span>: x</p>'
    assert say("{}, {}; update {} of {}", "a", "b", 3, 4).korean == "a, b; 갱신 4번 가운데 3번"
    assert translate_known("loss") == "loss"
    assert translate_known("no such text") == "no such text"


def test_a_value_may_itself_be_in_both_languages() -> None:
    assert say("{} per second", translate_known("tokens")).korean == "초당 토큰"
    assert (say("source") + ", 7").korean == "원문, 7"


@pytest.mark.parametrize(
    ("script", "korean_begins"),
    [
        (INSPECT.parent / "apps" / "serve" / "page" / "texts.js", "const KOREAN = {"),
        (INSPECT / "live" / "scripts" / "texts.js", "\n  ko: {"),
    ],
    ids=["serve", "live"],
)
def test_the_other_pages_name_the_same_texts_in_both_languages(script: Path, korean_begins: str) -> None:
    english, found, korean_part = script.read_text(encoding="utf-8").partition(korean_begins)
    assert found
    bare = [
        re.sub(r'"(?:[^"\\]|\\.)*"|`[^`]*`', '""', part.split("\n};")[0]) for part in (english, korean_part)
    ]
    names = [set(re.findall(r'\b(\w+): (?=["(\[{]|\w+\s*=>)', part)) for part in bare]
    assert len(names[0]) > 20
    assert names[0] - {"en"} == names[1]
