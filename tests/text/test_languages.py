"""Language codes as people send them, names of languages, and identification as a hint."""

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.text.identify import Guess, available, identify
from multihead.text.languages import Language, canonical, closest, is_known, is_language, language, primary

CODES = {
    "EN": "en",
    " de ": "de",
    "de-DE": "de-DE",
    "de_at": "de-AT",
    "zh-hans": "zh-Hans",
    "ZH_HANT_TW": "zh-Hant-TW",
    "eng": "en",
    "ger": "de",
    "deu": "de",
    "kor": "ko",
    "cmn": "zh",
    "deu_Latn": "de",
    "zho_Hant": "zh-Hant",
    "iw": "he",
    "nds": "nds",
    "fur": "fur",
    "xx": "xx",
    "qaa": "qaa",
    "x-Klingon": "x-klingon",
    "pt-br": "pt-BR",
    "nb": "nb",
}


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_one_form_however_it_is_sent(code: str) -> None:
    assert canonical(code) == CODES[code]
    assert canonical(CODES[code]) == CODES[code]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("German", "de"),
        ("Deutsch", "de"),
        ("한국어", "ko"),
        ("hanguk", "de"),
        ("", "de"),
        ("d", "de"),
        ("de\0", "de"),
    ],
)
def test_what_is_no_code_is_refused_with_the_code_of_its_name(text: str, remedy: str) -> None:
    with pytest.raises(UserError, match=rf'--to: ".*" is not a language code. Write .*"{remedy}"'):
        canonical(text, place="--to")


@given(
    text=st.text(max_size=23) | st.from_regex(r"[A-Za-z0-9]{1,8}([-_][A-Za-z0-9]{1,8}){0,4}", fullmatch=True)
)
@example("e" * 1009)
def test_any_text_is_a_code_or_refused_in_one_line(text: str) -> None:
    try:
        code = canonical(text)
    except UserError as error:
        code, message = "", str(error)
    if code:
        assert canonical(code) == code
        assert language(text).code == code
        assert all(language(text))
    else:
        assert len(message) < 211
        assert (primary(text), is_known(text)) == ("", False)


def test_languages_have_names_in_english_and_in_themselves() -> None:
    named = {
        "de": ("German", "Deutsch"),
        "ko": ("Korean", "한국어"),
        "zh-Hans": ("Chinese (Simplified)", "中文（简体）"),
        "zh-TW": ("Chinese (Taiwan)", "中文（繁體）"),
        "pt-BR": ("Portuguese (Brazil)", "português (Brasil)"),
        "fur": ("Friulian", "furlan"),
        "xx": ("xx", "xx"),
        "x-mine": ("x-mine", "x-mine"),
    }
    assert [language(code) for code in named] == [Language(code, *names) for code, names in named.items()]


def test_codes_that_no_standard_lists_are_told_from_others() -> None:
    assert [is_known(code) for code in ("de", "DE-at", "nds", "xx", "zzz", "Deutsch")] == [True] * 3 + [
        False
    ] * 3


@pytest.mark.parametrize(
    "name", ["de", "zh_CN", "German", " Deutsch", "독일어", "Simplified Chinese", "furlan"]
)
def test_a_header_may_name_a_language(name: str) -> None:
    assert is_language(name)


@pytest.mark.parametrize(
    "text",
    ["", "---", "x", "Some", "Remove all keys:", "Person sitting near water", "Java 진단 도구.", "Source"],
)
def test_a_text_that_begins_like_a_language_is_none(text: str) -> None:
    assert not is_language(text)


def test_the_language_is_what_is_left_without_script_and_country() -> None:
    assert [primary(code) for code in ("zh-Hant-TW", "KOR", "de_DE", "", "no code")] == [
        "zh",
        "ko",
        "de",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("wanted", "offered", "found"),
    [
        ("de-DE", ["en", "de"], "de"),
        ("DE", ["en", "deu"], "deu"),
        ("zh-TW", ["zh-Hans", "zh-Hant"], "zh-Hant"),
        ("zh-TW", ["zh"], "zh"),
        ("pt", ["pt-BR"], "pt-BR"),
        ("no", ["nb"], "nb"),
        ("nds", ["de"], None),
        ("gsw", ["de"], None),
        ("id", ["ms"], None),
        ("x-mine", ["x-mine", "de"], "x-mine"),
        ("de", [], None),
    ],
)
def test_a_wanted_language_is_served_by_the_closest_or_by_none(
    wanted: str, offered: list[str], found: str | None
) -> None:
    assert closest(wanted, offered) == found


SENTENCES = {
    "de": "Zwei junge Frauen sitzen auf einer Bank vor dem Haus.",
    "en": "Two young women are sitting on a bench in front of the house.",
    "fr": "Deux jeunes femmes sont assises sur un banc devant la maison.",
    "ko": "두 젊은 여자가 집 앞 벤치에 앉아 있다.",
    "ja": "二人の若い女性が家の前のベンチに座っている。",
    "zh": "两个年轻女子坐在房子前面的长椅上。",
}


@pytest.mark.skipif(not available(), reason="the extra `identify` is not installed")
def test_plain_sentences_are_identified() -> None:
    for code, sentence in SENTENCES.items():
        assert identify(sentence)[0].code == code
        best, *rest = identify(sentence, among=["de-DE", "eng", "fr", "ko", "ja", "zh-Hans"], most=3)
        assert primary(best.code) == code
        assert best.probability > 0.9
        assert len(rest) == 2
    assert identify(SENTENCES["de"], among=["de-DE"]) == [Guess("de-DE", 1.0)]


@pytest.mark.skipif(not available(), reason="the extra `identify` is not installed")
def test_text_without_letters_has_no_language_and_unknown_ones_are_never_found() -> None:
    assert identify("") == identify("123 🎉 ...") == []
    assert identify("Ein Haus.", among=["x-klingon"]) == []


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    assert not available()
    with pytest.raises(UserError, match=r"py3langid 0.4 or later .*'multihead\[identify\]'"):
        identify.__globals__["_library"]()
