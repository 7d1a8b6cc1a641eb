"""Documents translated by a function in place of a model."""

from pathlib import Path

import pytest
from capitals import capital_translator, translated, written
from scripted_translator import ScriptedTranslator

from multihead.apps.documents import translating_documents
from multihead.apps.documents.review_notes import ReviewNote
from multihead.apps.documents.translating_documents import (
    DocumentRequest,
    default_output,
    translate_document,
)
from multihead.apps.documents.translation_memory import TranslationMemory
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.training import train

PO = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: en\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "Ein Hund."
msgstr ""

#, fuzzy
msgid "Katze"
msgstr "cow"

msgid "Maus"
msgstr "mouse"

#, python-format
msgid "%d Tier"
msgid_plural "%d Tiere"
msgstr[0] ""
msgstr[1] ""
"""
XLIFF = """<xliff version="1.2">
<file source-language="de" target-language="en" datatype="plaintext" original="x"><body>
<trans-unit id="1"><source>Ein <g id="a">Hund</g> läuft.</source></trans-unit>
<trans-unit id="2"><source>Lose {x}</source></trans-unit>
</body></file></xliff>
"""
TMX = """<tmx version="1.4"><header srclang="de" segtype="sentence" adminlang="en" datatype="plaintext"
 creationtool="x" creationtoolversion="1" o-tmf="x"/><body>
<tu><tuv xml:lang="de"><seg>Ein Hund.</seg></tuv><tuv xml:lang="en"><seg>One hound.</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Ein <bpt i="1" x="1">&lt;b></bpt>Haus<ept i="1">&lt;/b></ept>.</seg></tuv>
<tuv xml:lang="en"><seg>The <bpt i="1" x="1">&lt;b></bpt>house<ept i="1">&lt;/b></ept>.</seg></tuv></tu>
</body></tmx>
"""


QT = """<TS version="2.1" sourcelanguage="de" language="en"><context><name>A</name>
<message><source>Ein Hund.</source><translation type="unfinished"></translation></message>
<message><source>Katze</source><translation>cat</translation></message>
<message><source>Lose %1 {x}</source><translation type="unfinished"/></message>
</context></TS>
"""
ANDROID = """<resources>
<string name="a">Ein <b>Hund</b> läuft\\'s %2$d mal.</string>
</resources>
"""


@pytest.fixture(scope="module")
def translator() -> TextTranslator:
    return capital_translator()


def test_po_messages_are_filled_and_doubtful_ones_fuzzy(translator: TextTranslator, tmp_path: Path) -> None:
    text, summary = translated(translator, written(tmp_path, "a.po", PO))
    assert 'msgid "Ein Hund."\nmsgstr "EIN HUND."' in text
    assert 'msgid "Katze"\nmsgstr "KATZE"' in text
    assert 'msgid "Maus"\nmsgstr "mouse"' in text
    assert 'msgstr[0] "%d TIER"\nmsgstr[1] "%d TIERE"' in text
    assert "fuzzy" in text  # %D was lost, and the plural translated around it
    assert (summary.segments, summary.kept, summary.translated, summary.review) == (5, 1, 4, 2)
    assert [note[:2] for note in summary.notes] == [
        (f"{tmp_path / 'a.po'}:18", "set where the source has it: %d")
    ] * 2


def test_translated_messages_are_translated_again_on_demand(
    translator: TextTranslator, tmp_path: Path
) -> None:
    text, summary = translated(translator, written(tmp_path, "a.po", PO), again=True)
    assert 'msgid "Maus"\nmsgstr "MAUS"' in text
    assert summary.kept == 0


def test_xliff_keeps_its_tags_and_marks_what_needs_review(translator: TextTranslator, tmp_path: Path) -> None:
    text, summary = translated(translator, written(tmp_path, "a.xlf", XLIFF))
    assert '>EIN <g id="a">HUND</g> LÄUFT.</target>' in text
    assert 'needs-review-translation">LOST {x}</target>' in text
    assert summary.review == 1


def test_subtitles_keep_their_times_and_markdown_its_code(translator: TextTranslator, tmp_path: Path) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\nEin Hund\nläuft.\n"
    assert translated(translator, written(tmp_path, "a.srt", srt))[0] == srt.replace(
        "Ein Hund\nläuft.", "EIN HUND LÄUFT."
    )
    text, _ = translated(translator, written(tmp_path, "a.md", "# Ein Hund\n\nZwei `Hunde` **laufen**.\n"))
    assert text == "# EIN HUND\n\nZWEI `Hunde` **LAUFEN**.\n"


def test_links_side_by_side_are_translated_without_a_space(
    translator: TextTranslator, tmp_path: Path
) -> None:
    html = "<nav><a>Hund</a><a>Maus und Katze</a><a><b>Haus</b></a></nav>"
    text, _ = translated(translator, written(tmp_path, "a.html", html))
    assert text == "<nav><a>HUND</a><a>MAUS UND KATZE</a><a><b>HAUS</b></a></nav>"


def test_a_memory_gives_exact_matches_first(translator: TextTranslator, tmp_path: Path) -> None:
    memory = written(tmp_path, "m.tmx", TMX)
    html = "<p>Ein Hund.<p>Ein  Hund.<p>Ein Hund!<p>Ein <i>Haus</i>.<p>Ein Haus."
    text, summary = translated(translator, written(tmp_path, "a.html", html), memory=memory)
    assert text == "<p>One hound.<p>One hound.<p>EIN HUND!<p>The <i>house</i>.<p>EIN HAUS."
    assert (summary.from_memory, summary.translated) == (3, 2)


def test_a_similar_text_of_the_memory_is_named_for_review(translator: TextTranslator, tmp_path: Path) -> None:
    memory = written(tmp_path, "m.tmx", TMX)
    text, summary = translated(translator, written(tmp_path, "a.txt", "Ein Hund!\nKatzen\n"), memory=memory)
    assert text == "EIN HUND!\nKATZEN\n"
    place = f"{tmp_path / 'a.txt'}:1"
    reason = f"the memory has a similar text (89%, {memory}:3): Ein Hund. -> One hound."
    assert summary.notes == [ReviewNote(place, reason, "Ein Hund!", "EIN HUND!")]
    assert summary.review == 1


def test_reasons_are_written_as_comments_on_demand_alone(translator: TextTranslator, tmp_path: Path) -> None:
    path = written(tmp_path, "a.xlf", XLIFF)
    plain, _ = translated(translator, path)
    commented, summary = translated(translator, path, comments=True)
    assert "<note" not in plain
    note = f'<note from="multihead">{summary.notes[0].reason}</note>'
    assert commented.count("<note") == commented.count(note) == summary.review == 1
    assert commented.replace(note, "") == plain


def test_a_memory_is_read_once_for_several_documents_and_again_where_it_changed(
    translator: TextTranslator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    class Counted(TranslationMemory):
        def __init__(self, path: Path, source: str | None, target: str | None) -> None:
            opened.append(path)
            super().__init__(path, source, target)

    monkeypatch.setattr(translating_documents, "TranslationMemory", Counted)
    memory = written(tmp_path, "old.tmx", TMX)
    for name in ("a.txt", "b.txt"):
        _, summary = translated(translator, written(tmp_path, name, "Ein Hund.\n"), memory=memory)
        assert summary.from_memory == 1
    written(tmp_path, "old.tmx", TMX.replace("Ein Hund.", "Eine Katze."))
    _, summary = translated(translator, written(tmp_path, "c.txt", "Ein Hund.\n"), memory=memory)
    assert (summary.from_memory, len(opened)) == (0, 2)


def test_a_glossary_is_obeyed(translator: TextTranslator, tmp_path: Path) -> None:
    glossary = written(tmp_path, "terms.tsv", "Hund\thound\n")
    text, summary = translated(
        translator, written(tmp_path, "a.txt", "Ein Hund.\nMaus.\n"), glossary=glossary
    )
    assert text == "EIN hound.\nMAUS.\n"
    assert not summary.notes


def test_a_limit_of_length_asks_for_review(translator: TextTranslator, tmp_path: Path) -> None:
    unit = '<trans-unit id="1" maxwidth="5" size-unit="char"><source>Ein Hund</source></trans-unit>'
    xliff = XLIFF[: XLIFF.index("<trans-unit")] + unit + "</body></file></xliff>"
    _, summary = translated(translator, written(tmp_path, "a.xlf", xliff))
    assert [note.reason for note in summary.notes] == ["8 characters, more than the 5 allowed"]


def test_an_output_that_makes_no_sense_is_refused_before_work(
    translator: TextTranslator, tmp_path: Path
) -> None:
    path = written(tmp_path, "a.txt", "Eins.\n")
    (tmp_path / "folder.txt").mkdir()
    for output, message in (
        ("a.txt", "overwrite"),
        ("b.docx", "cannot be written as"),
        ("x/b.txt", "no such folder"),
        ("folder.txt", "a folder"),
    ):
        with pytest.raises(UserError, match=message):
            translate_document(DocumentRequest(path, tmp_path / output, SearchSettings()), translator, [])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.txt", "folder.txt"]


def test_the_default_output_is_named_after_the_language() -> None:
    assert default_output(Path("x/letter.docx"), "de") == Path("x/letter.de.docx")
    with pytest.raises(UserError, match="Name the output"):
        default_output(Path("letter.docx"), "")


def test_a_heading_gets_no_full_stop(tmp_path: Path) -> None:
    tokenizer = train(["Ein Hund läuft."] * 3, TokenizerSettings(kind="chars", vocab_size=400))
    made = ScriptedTranslator(tokenizer, lambda line, settings: [f"{line.upper().rstrip('.')}."])
    text, _ = translated(
        TextTranslator(made, "de", "en"), written(tmp_path, "a.md", "# Ein Hund\n\nEr läuft.\n")
    )
    assert text == "# EIN HUND\n\nER LÄUFT.\n"


def test_a_text_without_a_translation_is_kept_and_named(tmp_path: Path) -> None:
    tokenizer = train(["Ein Hund läuft."] * 3, TokenizerSettings(kind="chars", vocab_size=400))
    made = ScriptedTranslator(tokenizer, lambda line, settings: ["" if "Hund" in line else line.upper()])
    path = written(tmp_path, "a.md", "# Ein *Hund*\n\nEr läuft. Ein Hund.\n")
    text, summary = translated(TextTranslator(made, "de", "en"), path)
    assert text.startswith("# Ein *Hund*\n\nER LÄUFT.")
    assert summary.review == 2
    assert [note[:2] for note in summary.notes] == [
        (f"{path}:1", "the model gives no translation"),
        (f"{path}:1", "kept as it is"),
        (f"{path}:3", "the model gives no translation"),
    ]


def test_messages_of_qt_are_kept_filled_or_marked(translator: TextTranslator, tmp_path: Path) -> None:
    text, summary = translated(translator, written(tmp_path, "a.ts", QT))
    assert "<translation>EIN HUND.</translation>" in text
    assert "<translation>cat</translation>" in text
    assert text.count('type="unfinished"') == summary.review == 1
    assert (summary.kept, summary.translated) == (1, 2)


def test_strings_of_android_keep_tags_and_placeholders(translator: TextTranslator, tmp_path: Path) -> None:
    text, _ = translated(translator, written(tmp_path, "strings.xml", ANDROID))
    assert "EIN <b>HUND</b> LÄUFT\\'S %2$d MAL." in text


@pytest.mark.parametrize(
    ("name", "text", "cautions"),
    [
        ("a.xlf", XLIFF.replace('"de"', '"it"'), [" the model translates from de"]),
        ("a.po", PO.replace("Language: en", "Language: fr"), [" the model translates to en"]),
        ("a.html", '<html lang="fr"><p>Hund', [" the model translates from de"]),
        ("a.arb", '{"@@locale": "fr", "a": "Hund"}', [" the model translates from de"]),
        ("a.ts", QT.replace('"en"', '"fr"'), [" the model translates to en"]),
        (
            "a.xcstrings",
            '{"sourceLanguage": "fr", "strings": {"Hund": {}}}',
            [" the model translates from de"],
        ),
        ("a.html", '<html lang="de-AT"><p>Hund', []),
        ("a.xlf", XLIFF, []),
    ],
)
def test_a_document_in_another_language_is_named(
    name: str, text: str, cautions: list[str], translator: TextTranslator, tmp_path: Path
) -> None:
    _, summary = translated(translator, written(tmp_path, name, text))
    assert [caution.partition(",")[2] for caution in summary.cautions] == cautions


def test_a_document_in_another_language_is_named_before_it_is_translated(
    translator: TextTranslator, tmp_path: Path
) -> None:
    events: list[str] = []
    page = written(tmp_path, "a.html", '<html lang="fr"><p>Hund')
    request = DocumentRequest(page, tmp_path / "b.html", SearchSettings())
    translate_document(
        request, translator, [], progress=lambda *_: events.append("progress"), caution=events.append
    )
    assert events[0].startswith("the document names fr")
    assert set(events[1:]) == {"progress"}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "a.html",
            '<html lang=de-AT xml:lang="de"><p lang="fr">Hund',
            '<html lang=en xml:lang="en"><p lang="fr">HUND',
        ),
        ("a.arb", '{"@@locale": "de", "a": "Hund"}', '{"@@locale": "en", "a": "HUND"}'),
        ("a.po", PO.replace("Language: en", "Language: "), "Language: en\\n"),
        ("a.xlf", XLIFF.replace(' target-language="en"', ""), 'target-language="en"'),
        ("a.ts", QT.replace(' language="en"', ""), '<TS version="2.1" sourcelanguage="de" language="en">'),
        (
            "strings.xml",
            '<resources xmlns:t="x" t:locale="de"><string name="a">Hund</string></resources>',
            '<resources xmlns:t="x" t:locale="en"><string name="a">HUND</string></resources>',
        ),
    ],
)
def test_the_language_of_the_translation_is_written(
    name: str, before: str, after: str, translator: TextTranslator, tmp_path: Path
) -> None:
    text, summary = translated(translator, written(tmp_path, name, before))
    assert after in text
    assert not summary.cautions
