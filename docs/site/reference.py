"""The reference: every command's help, every setting, and the API from its docstrings."""

import ast
import html
import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from frame import Page
from pydantic_core import PydanticUndefined

from multihead import cli
from multihead.recipe import DEFAULT_KIND, SECTION_NAMES, model_kinds, section_types
from multihead.recipe.settings import Settings

PACKAGE = model_kinds.FOLDER.parent
GROUP = "Reference"


def pages() -> Iterator[Page]:
    """Yield the pages of the reference."""
    yield Page("reference/commands.html", "Commands", _commands(), GROUP)
    yield Page("reference/settings.html", "Settings", _settings(), GROUP)
    yield from _api()


# --- commands ----------------------------------------------------------------------------------------


def _commands() -> str:
    parts = ["<h1>Commands</h1><p>Each command prints the same with <code>--help-all</code>.</p>"]
    parts.append(f'<pre tabindex="0">{html.escape(help_of())}</pre>')
    for name in cli.commands():
        parts.append(
            f'<h2 id="{name}">multihead {name}</h2><pre tabindex="0">{html.escape(help_of(name))}</pre>'
        )
    return "".join(parts)


def help_of(*command: str) -> str:
    """Return what a command prints with ``--help-all``, 88 columns wide and without colours."""
    os.environ.update({"COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"})
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed), suppress(SystemExit):
        cli.main([*command, "--help-all"] if command else [])
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed.getvalue())
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


# --- settings ----------------------------------------------------------------------------------------


def _settings() -> str:
    """Every key of every section, once for each class of settings."""
    used: dict[type[Settings], tuple[str, list[str]]] = {}
    for kind in model_kinds.built_in():
        for name, section in section_types(kind).items():
            used.setdefault(section, (name, []))[1].append(kind)
    parts = [
        "<h1>Settings</h1><p>A recipe is a TOML file with these sections; each key is also an option of "
        "<code>multihead train</code>, such as <code>--training.steps 5000</code>. "
        "<code>recipe.toml</code> in a run folder records the settings in force.</p>"
    ]
    for section, (name, kinds) in sorted(used.items(), key=_order):
        everywhere = len(kinds) == len(model_kinds.built_in())
        of = "every model" if everywhere else ", ".join(kinds)
        parts.append(f"<h2>[{name}] of {of}</h2>{_paragraphs(section.__doc__ or '')}<dl>")
        for key, field in section.model_fields.items():
            default = field.get_default(call_default_factory=True)
            shown = "required" if default is PydanticUndefined else repr(default)
            kind = re.sub(
                r"\b(?:\w+\.)+(\w+)", r"\1", str(getattr(field.annotation, "__name__", field.annotation))
            )
            if "[" in str(field.annotation):
                kind = re.sub(r"\b(?:[a-z_]+\.)+(\w+)", r"\1", str(field.annotation))
            parts.append(
                f"<dt><code>{name}.{key}</code> <span class='type'>{html.escape(kind)}, default "
                f"<code>{html.escape(shown)}</code></span></dt>"
                f"<dd>{_paragraphs(field.description or '')}</dd>"
            )
        parts.append("</dl>")
    return "".join(parts)


def _order(entry: tuple[type[Settings], tuple[str, list[str]]]) -> tuple[bool, bool, int]:
    """Sections before models, and the translators' first, in the order of a recipe."""
    name, kinds = entry[1]
    return name == "model", DEFAULT_KIND not in kinds, SECTION_NAMES.index(name)


# --- API ---------------------------------------------------------------------------------------------


def _api() -> Iterator[Page]:
    rooms = sorted(
        path
        for path in PACKAGE.iterdir()
        if path.name[0] not in "_." and (path.suffix == ".py" or path.is_dir())
    )
    rows = []
    found: list[Page] = []
    for room in rooms:
        files = [room] if room.is_file() else sorted(room.rglob("*.py"))
        files = [file for file in files if not any(part[0] == "_" for part in _name(file).split("."))]
        if not files:
            continue
        parts = [_module(file) for file in files]
        title = f"multihead.{room.stem}"
        docstring = (ast.get_docstring(_tree(files[0])) or "").split("\n")[0]
        rows.append(f'<li><a href="api/{room.stem}.html"><code>{title}</code></a> {_inline(docstring)}</li>')
        found.append(Page(f"reference/api/{room.stem}.html", title, f"<h1>{title}</h1>{''.join(parts)}"))
    about = "<p>From the docstrings. <code>multihead</code> itself offers what the README's examples use.</p>"
    body = f"<h1>API</h1>{about}<ul>{''.join(rows)}</ul>"
    yield Page("reference/api.html", "API", body, GROUP)
    yield from found


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _name(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _module(file: Path) -> str:
    tree, name = _tree(file), _name(file)
    parts = [f'<h2 id="{name}">multihead.{name}</h2>{_paragraphs(ast.get_docstring(tree) or "")}']
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
            parts.append(_entry(node, name, 3))
            if isinstance(node, ast.ClassDef):
                parts += [_entry(inner, f"{name}.{node.name}", 4) for inner in node.body if _is_method(inner)]
    return "".join(parts)


def _is_method(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name[0] != "_" and bool(ast.get_docstring(node))


def _entry(node: ast.stmt, within: str, level: int) -> str:
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    anchor = f"{within}.{node.name}"
    heading = f'<h{level} id="{anchor}"><code>{node.name}</code></h{level}>'
    signature = f"<pre class='signature' tabindex='0'>{html.escape(_signature(node))}</pre>"
    return heading + signature + _paragraphs(ast.get_docstring(node) or "")


def _signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    if isinstance(node, ast.FunctionDef):
        bare = ast.FunctionDef(node.name, node.args, [ast.Pass()], [], node.returns, None)
        text = ast.unparse(ast.fix_missing_locations(bare)).split("\n")[0].removesuffix(":")
        if len(text) <= 100:
            return text
        return re.sub(r", (?=\w+:|\*)", ",\n    ", text.replace("(", "(\n    ", 1))
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    head = f"class {node.name}({bases})" if bases else f"class {node.name}"
    return head if made is None else f"{head}\n    {_signature(made)}"


SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields|Example):\s*$")


def _paragraphs(text: str) -> str:
    """A docstring as HTML: paragraphs, and the lists of Args, Returns and Raises."""
    parts: list[str] = []
    lines: list[str] = []

    def close() -> None:
        if lines:
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
            lines.clear()

    for line in text.split("\n"):
        stripped = line.strip()
        if found := SECTION.match(stripped):
            close()
            parts.append(f"<p class='part'>{found[1]}</p>")
        elif not stripped:
            close()
        else:
            # An entry of a list is indented by four; its further lines by eight.
            if re.match(r" {4}[\w*`]+[\w ,*`.]*: ", line):
                close()
            lines.append(stripped)
    close()
    return "".join(parts)


def _inline(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text)
    return re.sub(
        r"``([^`]+)``|`([^`]+)`", lambda found: f"<code>{found[1] or found[2]}</code>", html.escape(text)
    )
