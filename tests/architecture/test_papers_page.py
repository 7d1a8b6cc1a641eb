"""docs/explanation/papers.md leads to code that is there, and what it computes by hand comes out."""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "papers.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMED = re.compile(r"\[`(\w+)`\]\(([^)]+\.py)\)")


def defined(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assigned = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return names | {target.id for target in assigned if isinstance(target, ast.Name)}


def test_every_name_is_defined_in_the_file_that_it_leads_to() -> None:
    found = NAMED.findall(TEXT)
    assert len(found) > 40
    lost = [(name, file) for name, file in found if name not in defined(PAGE.parent / file)]
    assert not lost


def test_every_other_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        file, _, heading = target.partition("#")
        assert (PAGE.parent / file).exists(), target
        if heading:
            page = (PAGE.parent / file).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
            assert heading in slugs, target


def test_what_is_computed_by_hand_comes_out() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert block.count("assert") == 3
    exec(compile(block, str(PAGE), "exec"), {})
