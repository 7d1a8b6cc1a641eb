"""String catalogues of Xcode: the target language is added to each message, in Xcode's own layout."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from document_samples import samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multihead_documents import Document, Translation, open_document
from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup

SAMPLE = samples()["Localizable.xcstrings"].decode()


def opened(folder: Path, text: str, target: str | None = "ko") -> Document:
    (folder / "a.xcstrings").write_text(text, encoding="utf-8", newline="")
    return open_document(folder / "a.xcstrings", target_language=target)


def xcode(tree: object) -> str:
    """Return a catalogue as Xcode lays it out, with its keys in order and empty objects on two lines."""
    text = json.dumps(tree, indent=2, separators=(",", " : "), ensure_ascii=False)
    return re.sub(r"^( *)(.*)\{\}", r"\1\2{\n\n\1}", text, flags=re.MULTILINE)


def unit(value: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": value}}


def catalogue(**strings: Any) -> str:
    return xcode({"sourceLanguage": "de", "strings": strings, "version": "1.0"})


def test_the_source_is_the_key_or_its_localization(tmp_path: Path) -> None:
    found = [(s.key, s.context, s.source.text, s.state) for s in opened(tmp_path, SAMPLE).segments]
    assert found == [
        ("%lld Dateien", "plural.one", "%lld Datei", "new"),
        ("%lld Dateien", "plural.other", "%lld Dateien", "new"),
        ("Abbrechen", "", "Abbrechen", "new"),
        ("farewell", "", 'Tschüss, "%@"', "needs-review"),
        ("Fertig", "", "Fertig", "translated"),
        ("Geräte", "device.mac", "Geräte", "new"),
        ("Geräte", "device.other", "Geräte", "translated"),
        ("Kommentar", "", "Kommentar", "new"),
    ]
    document = opened(tmp_path, SAMPLE)
    assert document.segments[0].note == "Zahl der Dateien"
    assert str(document.segments[3].target) == "안녕"
    assert (document.source_language, document.target_language) == ("de", "ko")


def test_the_target_is_added_as_xcode_writes_it(tmp_path: Path) -> None:
    page = catalogue(a={}, b={"comment": "x"}, c={"localizations": {"de": unit("C"), "zz": unit("z")}})
    document = opened(tmp_path, page)
    targets = {
        s.number: Translation(Markup.of(f"{s.key} é\n"), review=s.key == "b") for s in document.segments
    }
    assert document.render(targets).decode() == catalogue(
        a={"localizations": {"ko": unit("a é")}},
        b={"comment": "x", "localizations": {"ko": unit("b é", "needs_review")}},
        c={"localizations": {"de": unit("C"), "ko": unit("c é"), "zz": unit("z")}},
    )


def test_variations_of_the_source_become_those_of_the_target(tmp_path: Path) -> None:
    def counts(**forms: str) -> dict[str, Any]:
        return {"variations": {"plural": {form: unit(text) for form, text in forms.items()}}}

    page = catalogue(n={"localizations": {"de": counts(one="eins", other="viele")}})
    document = opened(tmp_path, page, "pl")
    assert {s.context: s.source.text for s in document.segments} == {
        "plural.one": "eins",
        "plural.few": "viele",
        "plural.many": "viele",
        "plural.other": "viele",
    }
    targets = {segment.number: segment.context for segment in document.segments}
    source = counts(one="eins", other="viele")
    target = counts(few="plural.few", many="plural.many", one="plural.one", other="plural.other")
    changed = document.render(targets).decode()
    assert changed == catalogue(n={"localizations": {"de": source, "pl": target}})
    # A part alone leaves the others new, with the source's text.
    part = document.render({0: "x"}).decode()
    states = {s.context: (str(s.target or ""), s.state) for s in opened(tmp_path, part, "pl").segments}
    assert states == {
        "plural.few": ("x", "translated"),
        "plural.one": ("", "new"),
        "plural.other": ("", "new"),
    }


def test_substitutions_keep_their_arguments(tmp_path: Path) -> None:
    forms = {"plural": {"other": unit("%arg Dateien")}}
    rule = {"argNum": 1, "formatSpecifier": "lld", "variations": forms}
    page = catalogue(n={"localizations": {"de": {**unit("%#@n@ da"), "substitutions": {"n": rule}}}})
    document = opened(tmp_path, page)
    assert [s.source.text for s in document.segments] == ["%#@n@ da", "%arg Dateien"]
    tree = json.loads(document.render({0: "%#@n@ 있음", 1: "파일 %arg개"}))
    target = tree["strings"]["n"]["localizations"]["ko"]
    assert target["stringUnit"]["value"] == "%#@n@ 있음"
    assert target["substitutions"]["n"] == {**rule, "variations": {"plural": {"other": unit("파일 %arg개")}}}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"localizations": {}}, {"localizations": {"ko": unit("X")}}),
        ({"localizations": {"ko": {}}}, {"localizations": {"ko": unit("X")}}),
        ({"localizations": {"ko": unit("", "new")}}, {"localizations": {"ko": unit("X")}}),
        ({"localizations": {"ko": unit("y", "stale")}}, {"localizations": {"ko": unit("X")}}),
        ({"localizations": {"ko": {"stringUnit": {"value": "y"}}}}, {"localizations": {"ko": unit("X")}}),
        (
            {"localizations": {"de": unit(" S\n")}},
            {"localizations": {"de": unit(" S\n"), "ko": unit(" X\n")}},
        ),
        (
            {"extractionState": "manual", "shouldTranslate": True},
            {"extractionState": "manual", "localizations": {"ko": unit("X")}, "shouldTranslate": True},
        ),
        ({"shouldTranslate": False}, None),
        ({"extractionState": "stale"}, None),
        ({"localizations": []}, None),
        ({"localizations": {"ko": "y"}}, None),
        (
            {"localizations": {"ko": {"stringUnit": {"state": 1, "value": "y"}}}},
            {"localizations": {"ko": unit("X")}},
        ),
        ([], None),
    ],
)
def test_an_entry_in_any_state_is_filled_or_kept(entry: Any, expected: Any, tmp_path: Path) -> None:
    page = catalogue(s=entry)
    document = opened(tmp_path, page)
    assert document.render({}).decode() == page
    assert len(document.segments) == (expected is not None)
    changed = document.render({segment.number: "X" for segment in document.segments}).decode()
    assert json.loads(changed) == json.loads(catalogue(s=expected or entry))
    assert changed == catalogue(s=expected or entry)


@pytest.mark.parametrize("layout", [{}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}])
def test_any_layout_is_valid(layout: Any, tmp_path: Path) -> None:
    tree = json.loads(SAMPLE)
    document = opened(tmp_path, json.dumps(tree, **layout))
    found = json.loads(document.render({s.number: f"{s.number}" for s in document.segments}))
    assert found.keys() == tree.keys()
    assert found["strings"]["Abbrechen"] == {"localizations": {"ko": unit("2")}}
    assert found["strings"]["Fertig"]["localizations"]["ko"] == unit("4")


def test_the_language_of_the_catalogue_is_the_target_if_it_has_one_other(tmp_path: Path) -> None:
    assert opened(tmp_path, SAMPLE, None).target_language is None
    with pytest.raises(DocumentError, match="no target language"):
        opened(tmp_path, SAMPLE, None).render({0: "x"})
    page = catalogue(a={"localizations": {"pt-BR": unit("x")}}, b={})
    assert opened(tmp_path, page, None).target_language == "pt-BR"
    assert opened(tmp_path, page, "pt").target_language == "pt-BR"
    assert opened(tmp_path, page, "zh_Hant").target_language == "zh-Hant"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "no string catalogue"),
        ('{"strings": {}}', "no string catalogue"),
        ('{"sourceLanguage": "de", "strings": []}', "no string catalogue"),
        ("[]", "no string catalogue"),
        ('"a"', "no string catalogue"),
        ("{", "not JSON"),
        ('{"sourceLanguage": "ko", "strings": {}}', "a catalogue in ko, the language to translate to"),
    ],
)
def test_another_file_is_refused_with_a_remedy(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        opened(tmp_path, text)
    assert caught.value.place
    assert caught.value.remedy


KEYS = st.text(st.sampled_from('aéZ "\\\n%'), max_size=3)
UNITS = st.builds(unit, st.text(max_size=3), st.sampled_from(["new", "translated", "needs_review"]))
FORMS = st.dictionaries(st.sampled_from(["one", "few", "other"]), UNITS, max_size=3)
LOCALIZATIONS = st.one_of(
    UNITS, st.builds(lambda forms: {"variations": {"plural": forms}}, FORMS), st.just({})
)
ENTRIES = st.fixed_dictionaries(
    {}, optional={"localizations": st.dictionaries(st.sampled_from(["de", "ko", "fr"]), LOCALIZATIONS)}
)


@given(st.dictionaries(KEYS, ENTRIES, max_size=4), st.text(min_size=1, max_size=4), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json_reads_what_was_meant(tmp_path: Path, strings: dict[str, Any], text: str, wide: bool) -> None:
    tree = {"sourceLanguage": "de", "strings": strings}
    page = json.dumps(tree, indent=1 if wide else None, ensure_ascii=False)
    document = opened(tmp_path, page)
    text = text.strip().replace("\0", "\ufffd") or "x"
    written = document.render({segment.number: text for segment in document.segments}).decode()
    again = opened(tmp_path, written)
    assert [str(segment.target) for segment in again.segments] == [text] * len(document.segments)
    assert [segment.source for segment in again.segments] == [segment.source for segment in document.segments]
    found = json.loads(written)
    for key, entry in strings.items():
        for language, localization in entry.get("localizations", {}).items():
            if language != "ko":
                assert found["strings"][key]["localizations"][language] == localization
