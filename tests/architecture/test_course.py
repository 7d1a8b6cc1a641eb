"""The course: every chapter, cell and exercise exists in both languages, runs, and its solutions solve."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from multihead.apps.course import check
from multihead.apps.course.check import fault_of
from multihead.apps.course.exercises import EXERCISES
from multihead.apps.course.korean import NAMES, TEXTS
from multihead.errors import UserError

COURSE = Path(__file__).parents[2] / "docs" / "course"
FENCE = re.compile(r"^```python( \.noeval)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HANGUL = re.compile("[가-힣]")
CHAPTERS = sorted(path.stem for path in (COURSE / "en").glob("*.md"))


def cells(language: str, chapter: str, *, run: bool = True) -> list[str]:
    """Return the code cells of a chapter, or the solutions of its exercises."""
    text = (COURSE / language / f"{chapter}.md").read_text(encoding="utf-8")
    return [code for plain, code in FENCE.findall(text) if bool(plain) != run]


def exercises(chapter: str, language: str = "en") -> list[tuple[str, str]]:
    """Return the exercises of a chapter: name of the check, name of the function."""
    found = re.findall(r'^check\("([^"]+)", (\w+)\)$', "\n".join(cells(language, chapter)), re.MULTILINE)
    return [(name, function) for name, function in found]


def test_no_chapter_is_in_one_language_only() -> None:
    assert CHAPTERS
    assert sorted(path.stem for path in (COURSE / "ko").glob("*.md")) == CHAPTERS


class Texts(ast.NodeTransformer):
    """Takes the texts out of a program, in their order; what is left is its code."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, str):
            return node
        self.texts.append(node.value)
        return ast.Constant("")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        # A language may need more words, or fewer, between the same values.
        words = [part.value for part in node.values if isinstance(part, ast.Constant)]
        self.texts.append("".join(str(word) for word in words))
        return ast.JoinedStr([self.visit(part) for part in node.values if not isinstance(part, ast.Constant)])


def code_and_texts(code: str) -> tuple[str, list[str]]:
    """Return a cell without its texts, and its texts."""
    texts = Texts()
    return ast.dump(texts.visit(ast.parse(code))), texts.texts


def differences(english: str, korean: str) -> list[tuple[str, str]]:
    """Return where cells of the two languages differ other than by a Korean text."""
    (code, texts), (korean_code, korean_texts) = code_and_texts(english), code_and_texts(korean)
    if code != korean_code or len(texts) != len(korean_texts):
        return [(english, korean)]
    pairs = zip(texts, korean_texts, strict=True)
    return [
        pair for pair in pairs if pair[0] != pair[1] and pair != ("en", "ko") and not HANGUL.search(pair[1])
    ]


@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.parametrize("run", [True, False])
def test_both_languages_run_the_same_code(chapter: str, run: bool) -> None:
    english, korean = (cells(language, chapter, run=run) for language in ("en", "ko"))
    assert len(english) == len(korean)
    assert [pair for cell in zip(english, korean, strict=True) for pair in differences(*cell)] == []


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ('curves(x, ylabel="loss")', 'curves(y, ylabel="손실")'),
        ('f(x, "loss")', 'f(x, "perte")'),
        ('print(f"{a} of {b}")', 'print(f"{b} 가운데 {b}")'),
        ("x = 1", "x = 2"),
    ],
)
def test_another_code_or_an_untranslated_text_is_a_difference(english: str, korean: str) -> None:
    assert differences(english, english.replace("loss", "손실")) == []
    assert differences(english, korean) != []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_both_languages_have_the_same_parts(chapter: str) -> None:
    def parts(language: str) -> list[str]:
        text = FENCE.sub("", (COURSE / language / f"{chapter}.md").read_text(encoding="utf-8"))
        return re.findall(r"^(#+) |^(\$\$)|<(details)>|^(- )|\]\((https?://[^)]+)\)", text, re.MULTILINE)

    assert parts("en") == parts("ko")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_korean_chapter_is_korean(chapter: str) -> None:
    text = FENCE.sub("", (COURSE / "ko" / f"{chapter}.md").read_text(encoding="utf-8"))
    assert len(re.findall(r"[가-힣]", text)) > 800


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_emphasis_is_read_as_one(chapter: str, language: str) -> None:
    # "**term(english)**" with a Korean particle behind it is none to CommonMark, which shows the asterisks.
    text = (COURSE / language / f"{chapter}.md").read_text(encoding="utf-8").partition("\n---\n")[2]
    blocks = MarkdownIt().parse(re.sub(r"\$[^$]+\$", "", FENCE.sub("", text)))
    shown = [part.content for block in blocks for part in block.children or () if part.type == "text"]
    assert [part for part in shown if "*" in part] == []


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_sentence_begins_a_list_by_accident(chapter: str, language: str) -> None:
    # A line that happens to begin with "1. " is the only item of a list.
    text = (COURSE / language / f"{chapter}.md").read_text(encoding="utf-8").partition("\n---\n")[2]
    blocks = MarkdownIt().parse(FENCE.sub("", text))
    lists = [block.map for block in blocks if block.type == "ordered_list_open" and block.map]
    items = [block.map for block in blocks if block.type == "list_item_open" and block.map]
    assert [one for one in lists if sum(one[0] <= item[0] < one[1] for item in items) < 2] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_cell_of_a_chapter_runs_and_its_solutions_solve(
    chapter: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MULTIHEAD_COURSE", "small")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, code in enumerate(cells("en", chapter), start=1):
        exec(compile(code, f"{chapter}, cell {number}", "exec"), names)
    found = exercises(chapter)
    assert len(found) == 3
    for name, function in found:
        assert fault_of(name, names[function]) is not None  # type: ignore[arg-type]
    for code in cells("en", chapter, run=False):
        exec(compile(code, f"{chapter}, solutions", "exec"), names)
    assert {name: fault_of(name, names[function]) for name, function in found} == {  # type: ignore[arg-type]
        name: None for name, _ in found
    }


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_formula_becomes_mathml(chapter: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("latex2mathml", reason="the extra `course` is not installed")
    monkeypatch.syspath_prepend(str(COURSE))
    text = (COURSE / language / f"{chapter}.md").read_text(encoding="utf-8").partition("\n---\n")[2]
    page = import_module("pages").render(FENCE.sub("", text))
    assert "$" not in re.sub(r"<code>.*?</code>", "", page)
    assert ("<math" in page) == ("$" in FENCE.sub("", text))


def test_every_exercise_belongs_to_a_chapter() -> None:
    asked = [name for chapter in CHAPTERS for name, _ in exercises(chapter)]
    assert sorted(asked) == sorted(EXERCISES)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_check_of_a_korean_chapter_prints_korean(chapter: str, capsys: pytest.CaptureFixture[str]) -> None:
    korean = [name for name, _ in exercises(chapter, "ko")]
    assert korean == [NAMES[name] for name, _ in exercises(chapter)]
    for name in korean:
        check(name, lambda *given: None)
        assert capsys.readouterr().out.startswith(f"{name}: 아직이다. ")


def test_every_text_of_a_check_has_its_korean_and_none_is_in_korean_only() -> None:
    said: set[str] = set()
    bare: list[ast.expr] = []
    for path in (COURSE.parents[1] / "src" / "multihead" / "apps" / "course").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say":
                said.add(ast.literal_eval(node.args[0]))
            if isinstance(node, ast.Return) and path.parent.name == "exercises":
                value = node.value
                branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                bare += [one for one in branches if isinstance(one, ast.JoinedStr)]
                bare += [one for one in branches if isinstance(one, ast.Constant) and one.value is not None]
    assert said == set(TEXTS)
    assert [ast.unparse(one) for one in bare] == []
    for english, korean in TEXTS.items():
        assert HANGUL.search(korean)
        assert english.count("{}") == len(re.findall(r"\{\d?\}", korean))


def test_an_unknown_exercise_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="no such exercise") as caught:
        fault_of("attenton", print)
    assert "attention" in str(caught.value.remedy)


def test_an_error_in_an_answer_is_a_finding() -> None:
    assert fault_of("attention", lambda q, k, v: q @ v) is not None
    assert fault_of("attention", lambda q, k, v: None) == "nothing is returned"
    assert fault_of("alignment", lambda weights: ...) == "the three dots are still there"


def test_the_korean_readme_gives_the_commands_of_the_english_one() -> None:
    root = COURSE.parents[1]
    english, korean = ((root / name).read_text(encoding="utf-8") for name in ("README.md", "README.ko.md"))
    blocks = re.findall(r"^```\n(.*?)^```$", FENCE.sub("", korean), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    assert [block for block in blocks if block not in english and block != "make course\n"] == []
    trained = re.findall(r"`(multihead train [a-z0-9-]+)`", korean)
    assert len(trained) == 8
    assert [command for command in trained if f"`{command}`" not in english] == []


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    "chapter", [name for name in CHAPTERS if name[:2] in ("04", "05", "06", "07", "08", "11")]
)
def test_the_live_page_opens_in_the_language_of_the_chapter(
    chapter: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("latex2mathml", reason="the extra `course` is not installed")
    monkeypatch.syspath_prepend(str(COURSE))
    pages = import_module("pages")
    text = (COURSE / language / f"{chapter}.md").read_text(encoding="utf-8").partition("\n---\n")[2]
    body = pages.render(FENCE.sub("", text))
    shown = pages.with_live_page(body, language, "../live.html")
    targets = re.findall(r'<iframe src="\.\./live\.html#language=(\w+)&amp;text=\w+&amp;kind=(\w+)"', shown)
    assert targets in [[(language, kind)] for kind in ("cross", "encoder", "own")]
    assert "<strong>" in shown[shown.index('<div class="live">') : shown.index("<iframe")]
    assert pages.with_live_page(body, language, None) == body


def labels_of(chapter: str) -> list[str]:
    """Return the texts that the figures of a Korean chapter show: axes, titles, names of curves."""
    shown: list[str] = []
    for code in cells("ko", chapter):
        for call in ast.walk(ast.parse(code)):
            if isinstance(call, ast.Call):
                shown += [
                    code_and_texts(ast.unparse(k.value))[1][0]
                    for k in call.keywords
                    if k.arg in ("xlabel", "ylabel", "title") and ast.unparse(k.value) != "''"
                ]
                if getattr(call.func, "id", "") == "curves" and isinstance(call.args[0], ast.Dict):
                    shown += [str(key.value) for key in call.args[0].keys if isinstance(key, ast.Constant)]
    return shown


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_figures_of_a_korean_chapter_are_labelled_in_korean(chapter: str) -> None:
    names = {"BERT", "GPT"}
    english = [text for text in labels_of(chapter) if not HANGUL.search(text) and text not in {*names, "d_k"}]
    assert english == []
