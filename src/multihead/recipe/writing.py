"""Writing of recipes as TOML, with the help text of each key as a comment."""

from typing import Any

import tomlkit
from tomlkit.items import Table

from multihead.recipe.sections import SECTION_NAMES, Recipe
from multihead.recipe.settings import Settings
from multihead.system import plugins

REASON = "Chosen for this corpus: "
"""Begins the comment with the reason of a setting."""


def to_toml(recipe: Recipe[Settings]) -> str:
    """Return all settings of a recipe as commented TOML, which ``from_toml`` reads."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment("All settings of this run. `multihead train` with this file repeats the run.")
    )
    document.add("name", tomlkit.item(recipe.name))
    for name in SECTION_NAMES:
        if type(recipe.section(name)) is Settings:
            continue  # the task lacks this section
        document.add(tomlkit.nl())
        document.add(name, _section(recipe, name))
    return tomlkit.dumps(document)


def reasons_in(text: str) -> dict[str, str]:
    """Return the reasons, by dotted key, in the comments of a recipe written by ``to_toml``."""
    section, reason, reasons = "", "", {}
    for line in text.split("\n"):
        if line.startswith("["):
            section = line.strip("[]")
        elif line.startswith(f"# {REASON}"):
            reason = line.removeprefix(f"# {REASON}")
        elif reason and " = " in line:
            reasons[f"{section}.{line.partition(' = ')[0]}"] = reason
            reason = ""
    return reasons


def _section(recipe: Recipe[Settings], name: str) -> Table:
    section, table = recipe.section(name), tomlkit.table()
    _comment(table, (type(section).__doc__ or "").split("\n\n")[0])
    if name == "model":
        table.add(tomlkit.nl())
        _comment(table, "Model architecture.")
        if plugins.is_record(recipe.kind):
            _comment(table, "A Python file and its SHA-256. To use it, name the file: --model.file FILE.")
        table.add("kind", recipe.kind)
    fields = type(section).model_fields
    # In TOML, the tables of a section follow its plain values.
    for key in sorted(fields, key=lambda key: isinstance(getattr(section, key), dict)):
        value = getattr(section, key)
        table.add(tomlkit.nl())
        _comment(table, fields[key].description or "")
        if reason := recipe.reasons.get(f"{name}.{key}"):
            _comment(table, REASON + reason)
        if value is None:
            assert fields[key].default is None, "TOML has no null: a key can be None only by default"
            table.add(tomlkit.comment(f"{key} is not set"))
        else:
            table.add(key, _item(value))
    return table


def _comment(table: Table, text: str) -> None:
    for line in text.split("\n"):
        if line.strip():
            table.add(tomlkit.comment(line.strip()))


def _item(value: Any) -> Any:
    if isinstance(value, dict):
        table = tomlkit.table()
        for key, entry in value.items():
            table.add(key, _item(entry))
        return table
    return tomlkit.item(list(value) if isinstance(value, tuple) else value)
