"""Messages of programs: their translation is filled by the same arguments, or marked for review."""

import shutil
import subprocess
from pathlib import Path

import pytest
from capitals import translated, written
from scripted_translator import ScriptedTranslator

from multihead.apps.documents.message_directives import MOVED
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.training import train

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: en\\n"\n'
MESSAGES = (
    ("c-format", "%s kennt %d Hunde"),
    ("c-format", "%s kennt %s"),
    ("c-format", "%d%% von %<PRIu64> Bytes"),
    ("python-format", "%s kennt %d"),
    ("python-format", "%(name)s kennt %(n)d"),
    ("php-format", "%s kennt %s und %d"),
    ("no-c-format", "100 % der Hunde"),
)


def backwards(line: str, settings: SearchSettings) -> list[str]:
    return [" ".join(reversed(line.split()))]


def dropping(line: str, settings: SearchSettings) -> list[str]:
    return [line.replace("%%", "%")]


def text_translator(script: object) -> TextTranslator:
    tokenizer = train(["Ein Hund läuft {%}. <br>"] * 3, TokenizerSettings(kind="chars", vocab_size=400))
    return TextTranslator(ScriptedTranslator(tokenizer, script), "de", "en")  # type: ignore[arg-type]


@pytest.mark.parametrize("script", [backwards, dropping])
@pytest.mark.skipif(not shutil.which("msgfmt"), reason="msgfmt is not installed")
def test_msgfmt_accepts_every_translated_message(script: object, tmp_path: Path) -> None:
    catalogue = HEADER + "".join(f'\n#, {flag}\nmsgid "{text}"\nmsgstr ""\n' for flag, text in MESSAGES)
    translated(text_translator(script), written(tmp_path, "a.po", catalogue))
    command = ["msgfmt", "--check-format", "-o", str(tmp_path / "a.mo"), str(tmp_path / "out.po")]
    checked = subprocess.run(command, capture_output=True, check=False, text=True)
    assert checked.returncode == 0, checked.stderr


def test_changed_places_are_numbered_or_marked(tmp_path: Path) -> None:
    catalogue = HEADER + "".join(f'\n#, {flag}\nmsgid "{text}"\nmsgstr ""\n' for flag, text in MESSAGES)
    text, summary = translated(text_translator(backwards), written(tmp_path, "a.po", catalogue))
    assert 'msgstr "Hunde %2$d kennt %1$s"' in text
    assert 'msgstr "%2$s kennt %1$s"' in text
    assert '#, fuzzy, python-format\nmsgid "%s kennt %d"\nmsgstr "%d kennt %s"' in text
    assert '#, python-format\nmsgid "%(name)s' in text
    assert [note.reason for note in summary.notes] == [MOVED, "set where the source has it: 100 %"]
    assert "%2$<PRIu64>" in text
    assert "%1$d%%" in text


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.xml", '<resources><string name="a">%s kennt %s</string></resources>', ">%2$s kennt %1$s<"),
        ("a.strings", '"a" = "%@ kennt %@";\n', '"%2$@ kennt %1$@"'),
        ("a.properties", "a = %s kennt %d\n", "a = %2$d kennt %1$s"),
        ("a.json", '{"a": "%s kennt %s"}', '"%s kennt %s"'),
    ],
)
def test_other_messages_are_numbered_if_their_format_allows(
    name: str, content: str, expected: str, tmp_path: Path
) -> None:
    text, summary = translated(text_translator(backwards), written(tmp_path, name, content))
    assert expected in text
    assert bool(summary.notes) == name.endswith(".json")


MEMORY = (
    HEADER
    + """
msgid "%d%% Hunde"
msgstr "%d% dogs"

msgid "Lose %1 und %n"
msgstr "Lose %1"
"""
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xml", '<resources><string name="a">%d%% Hunde</string></resources>'),
        ("a.strings", '"a" = "%d%% Hunde";\n'),
        ("a.json", '{"a": "%d%% Hunde"}'),
        ("a.po", f'{HEADER}\n#, c-format\nmsgid "%d%% Hunde"\nmsgstr ""\n'),
        ("a.resx", '<root><data name="a"><value>%d%% Hunde</value></data></root>'),
        ("a.ts", '<TS version="2.1" language="en"><context><name>A</name><message>'
            '<source>Lose %1 und %n</source><translation type="unfinished"/></message></context></TS>'),
    ],
)  # fmt: skip
def test_a_memory_without_a_directive_is_named(name: str, content: str, tmp_path: Path) -> None:
    memory = written(tmp_path, "memory.po", MEMORY)
    _, summary = translated(text_translator(backwards), written(tmp_path, name, content), memory=memory)
    assert (summary.from_memory, summary.review, len(summary.notes) > 0) == (1, 1, True)
