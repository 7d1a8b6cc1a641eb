"""Glossaries: files, their faults, and terms found in a source and looked up in a translation."""

import re
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.text.terms import Glossary, Term


def glossary(tmp_path: Path, *lines: str) -> Glossary:
    path = tmp_path / "terms.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Glossary.load(path)


def found(glossary: Glossary, text: str) -> list[tuple[str, str]]:
    return [(text[match.start : match.end], match.term.target) for match in glossary.find(text)]


def test_a_file_has_a_term_a_line(tmp_path: Path) -> None:
    terms = glossary(
        tmp_path, "# ours", "", "Hund\tdog\tdogs|hound\tany\tnoun", "  Katze \t cat ", "Haus\thouse\t\texact"
    ).terms
    place = str(tmp_path / "terms.tsv")
    assert terms == (
        Term("Hund", "dog", ("Hund",), ("dog", "dogs", "hound"), "any", "noun", f"{place}:3"),
        Term("Katze", "cat", ("Katze",), ("cat",), "smart", "", f"{place}:4"),
        Term("Haus", "house", ("Haus",), ("house",), "exact", "", f"{place}:5"),
    )


def test_a_heading_names_the_columns_in_any_order(tmp_path: Path) -> None:
    (term,) = glossary(tmp_path, "target\tSource\tpos\tsource_forms", "dog\tHund\tnoun\tHunde|Hundes").terms
    assert (term.source, term.target, term.pos) == ("Hund", "dog", "noun")
    assert term.source_forms == ("Hund", "Hunde", "Hundes")


FAULTS = {
    "empty source": (["Hund\tdog", "\tcat"], r":2: an empty source term. Write source, tab, target"),
    "empty target": (["Hund\t "], r":1: an empty target term"),
    "one column": (["Hund"], r":1: an empty target term"),
    "columns": (["a\tb\tc\tany\tnoun\tx"], r":1: 6 columns, but a term has at most 5: source, target, forms"),
    "case": (["a\tb\tc\tupper"], r':1: no rule of case is called "upper". Write smart, exact, any'),
    "heading": (["source\ttarget\tnote"], r':1: no column is called "note". There are: source'),
    "heading twice": (["source\ttarget\tpos\tpos"], r':1: "pos" twice in the heading'),
    "nothing": (["# nothing"], r"terms\.tsv: no terms. Write source, tab, target on a line"),
    "only a heading": (["source\ttarget"], r"no terms"),
    "long": (["a" * 201 + "\tb"], r":1: a term of more than 200 characters"),
    "contradiction": (
        ["Hund\tdog", "", "Hund\thound"],
        r':3: "Hund" is "hound" here and "dog" at .*:1. Keep one',
    ),
    "in any case": (["HUND\tdog\t\tany", "hund\thound\t\tany"], r':2: "hund" is "hound" here and "dog"'),
    "by a form": (
        ["source\ttarget\tsource_forms", "Hund\tdog\tHunde", "Hunde\thounds"],
        r':3: "Hunde" is "hounds" here and "dog" at',
    ),
    "case of one term": (
        ["Hund\tdog", "Hund\tdog\t\texact"],
        r':2: "Hund" has the case "exact" here and "smart"',
    ),
    "cycle": (
        ["Hund\tdog", "Katze\tcat", "dog\tHund"],
        r":3: terms .* each other: Hund → dog → Hund \(also .*:1\)",
    ),
    "long cycle": (["a\tb", "b\tc", "c\td", "d\tb"], r":4: terms that translate each other: b → c → d → b"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_with_their_place_and_remedy(name: str, tmp_path: Path) -> None:
    lines, message = FAULTS[name]
    with pytest.raises(UserError, match=message) as caught:
        glossary(tmp_path, *lines)
    assert caught.value.remedy


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.tsv"):
        Glossary.load(tmp_path / "none.tsv")


def test_what_is_said_twice_or_stays_as_it_is_is_no_contradiction(tmp_path: Path) -> None:
    terms = glossary(
        tmp_path, "Hund\tdog", "Hund\tdog", "Linux\tLinux", "a\tb", "b\tc", "IT\tIT", "it\tes"
    ).terms
    assert [term.source for term in terms] == ["Hund", "Linux", "a", "b", "IT", "it"]


def test_the_longest_term_is_found_and_none_inside_it(tmp_path: Path) -> None:
    ours = glossary(
        tmp_path,
        "machine translation\tMT",
        "translation\tÜbersetzung",
        "machine\tMaschine",
        "translation memory\tTM",
    )
    assert found(ours, "Machine translation, translation memory; a machine  translation.") == [
        ("Machine translation", "MT"),
        ("translation memory", "TM"),
        ("machine  translation", "MT"),
    ]
    assert found(ours, "the machine translations machine translation") == [
        ("machine", "Maschine"),
        ("machine translation", "MT"),
    ]


@pytest.mark.parametrize(
    ("term", "case", "text", "there"),
    [
        ("cat", "", "cat", True),
        ("cat", "", "Cat", True),
        ("cat", "", "CAT", True),
        ("cat", "exact", "Cat", False),
        ("Apple", "", "apple", False),
        ("Apple", "", "APPLE", True),
        ("Apple", "any", "apple", True),
        ("IT", "", "it", False),
        ("IT", "", "IT", True),
        ("iPhone", "", "iphone", False),
        ("Äpfel", "any", "äPFEL", True),
        ("straße", "", "STRASSE", False),
        ("İstanbul", "", "İstanbul", True),
    ],
)
def test_capitals_count_by_the_rule_of_the_term(
    tmp_path: Path, term: str, case: str, text: str, there: bool
) -> None:
    ours = glossary(tmp_path, f"{term}\tx\t\t{case}")
    assert bool(found(ours, f"Say {text}, now")) == there


def test_of_two_terms_that_differ_in_case_the_one_that_is_written_so_is_found(tmp_path: Path) -> None:
    ours = glossary(tmp_path, "it\tes", "IT\tEDV")
    assert found(ours, "it, It, IT") == [("it", "es"), ("It", "es"), ("IT", "EDV")]


@pytest.mark.parametrize(
    ("term", "text", "there"),
    [
        ("cat", "concatenate", False),
        ("cat", "cat's", True),
        ("cat", "cat-like", True),
        ("cat", "cat_x", False),
        ("cat", "cat2", False),
        ("C++", "in C++.", True),
        (".NET", "ASP.NET", True),
        ("서버", "서버를", True),
        ("서버", "서버에서는", True),
        ("서버", "서버들이", True),
        ("서버", "서버입니다", True),
        ("서버", "웹서버", False),
        ("서버", "서버실", False),
        ("서버", "서버.", True),
        ("API", "API를", True),
        ("API", "새API는", True),
        ("API", "RAPID", False),
        ("東京", "東京都に", True),
        ("今天", "他今天来", True),
        ("サーバ", "サーバー", False),
        ("サーバ", "このサーバは", True),
        ("กาแฟ", "ดื่มกาแฟร้อน", True),
        ("Café", "ein Café", True),
        ("Café", unicodedata.normalize("NFD", "ein Café"), True),
        (unicodedata.normalize("NFD", "서버"), "서버를", True),
        ("cafe", unicodedata.normalize("NFD", "ein café"), False),
        ("ein Hund", "ein\u00a0Hund", True),
        ("ein Hund", "ein\n  Hund", True),
    ],
)
def test_words_are_whole_by_the_rules_of_their_script(
    tmp_path: Path, term: str, text: str, there: bool
) -> None:
    assert bool(found(glossary(tmp_path, f"{term}\tx"), text)) == there


def test_a_translation_is_searched_for_all_forms_of_the_targets(tmp_path: Path) -> None:
    ours = glossary(tmp_path, "Hund\tdog\tdogs|hound", "Köter\tdog", "Server\t서버", "Wirt\thost")
    matches = ours.find("Hund und Köter, Server und Server")
    assert len(matches) == 4
    assert ours.missing(matches, "Dogs and a dog, 서버와 서버를") == []
    lost = ours.missing(matches, "A dog, 서버실 and 서버, hosts, hounds")
    assert [term.source for term in lost] == ["Köter", "Server"]
    assert ours.missing([], "nothing") == []
    text = "A dog, 서버실 and 서버, hosts, hounds"
    assert ours.term_places(matches, text) == [(2, 5), None, (15, 17), None]
    assert len(ours.missing(matches, "")) == 4


def test_the_places_of_terms_are_those_of_the_text(tmp_path: Path) -> None:
    ours = glossary(tmp_path, "a b\tx", "c\ty")
    text = "c  a   b c"
    assert [(match.start, match.end) for match in ours.find(text)] == [(0, 1), (3, 8), (9, 10)]


FORMS = ["a", "ab", "a b", "b c", "서버", "Ab"]


def by_hand(text: str) -> list[tuple[int, int, str]]:
    """The longest form at each place, tried one by one, of Latin letters and Hangul with the particle 를."""
    found, place = [], 0
    while place < len(text):
        ends = []
        for form in FORMS:
            match = re.compile(form.replace(" ", r"\s+")).match(text, place)
            letters = "[가-힣]" if form == "서버" else "[A-Za-z]"
            before = re.match(letters, text[place - 1 : place])
            run = re.match(f"{letters}*", text[match.end() :] if match else "")
            suffixes = re.fullmatch("를{0,3}" if form == "서버" else "", run[0] if run else "")
            if match and not before and suffixes:
                ends.append((match.end(), form))
        if ends:
            end, form = max(ends)
            found.append((place, end, form))
        place = max(ends)[0] if ends else place + 1
    return found


@given(text=st.text("ab cAB서버를 \n", max_size=31))
@example("a b c 서버를 서버를를, 서버서버 Ab ab\nb  c")
def test_terms_are_found_as_by_trying_every_place(text: str) -> None:
    ours = Glossary(Term(form, form, (form,), (form,), "exact", "", form) for form in FORMS)
    assert [(match.start, match.end, match.term.source) for match in ours.find(text)] == by_hand(text)


def test_many_terms_in_a_long_text_take_linear_time(tmp_path: Path) -> None:
    ours = glossary(
        tmp_path, *(f"{'a ' * (1 + number % 97)}b{number}\tx{number}" for number in range(2_003)), "서버\ty"
    )
    took = []
    for length in (2_003, 20_011):  # quadratic time: a hundred times as long
        texts = [
            "a " * (length // 2),
            "서버입니" * (length // 4),
            "a" + " " * length,
            "서버들" * (length // 3),
        ]
        start = time.process_time()
        for text in texts:
            ours.find(text)
        took.append(time.process_time() - start)
    assert took[1] < 25 * took[0] + 0.5
