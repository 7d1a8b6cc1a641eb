"""Placeholders that a corpus keeps, or does not."""

import pytest

from multihead.text.changed_kinds import LETTERLESS, changed_kinds, kept_identifiers, lost_digits, not_kept
from multihead.text.placeholder_patterns import CARRIED, find

KEPT = [(f"es kostet {n},5 Euro", f"it costs {n},5 euros") for n in range(13)]
DATES = [(f"am {n}.11.2026", f"on 2026-11-{n}") for n in range(10, 23)]
YEARS = [(f"im Jahr {n}", f"in {n}") for n in range(1500, 1701)]
PRICES = [
    (f"es kostet {n // 7}.{n},{n % 89 + 10} €", f"it costs €{n // 7},{n}.{n % 89 + 10}")
    for n in range(100, 201)
]
CLOCK = [
    (f"um {n}:{m}", f"at {n - 12}:{m}" if n > 12 else f"at {n}:{m}") for n in range(24) for m in range(11, 18)
]


@pytest.mark.parametrize(
    ("pairs", "changed"),
    [
        ([], ()),
        (KEPT, ()),
        (DATES, ("number",)),
        (DATES[:9], ()),
        (DATES + KEPT[:1], ("number",)),
        (DATES + KEPT[:5], ()),
        ([(f"{n}.11.2026", f"2026-11-{n}") for n in range(10, 23)], (LETTERLESS, "number")),
        ([(f"{n} + {n}", str(2 * n)) for n in range(13)], (LETTERLESS,)),
        ([("... --- ...", "sos"), (".... ..", "hi")] * 7, (LETTERLESS,)),
        ([(f"{n}.5", f"{n}.5") for n in range(13)], ()),
        (YEARS + PRICES, ("digits of number 0.0,0 €", "number 0.0,0 €")),
        (YEARS + PRICES[:99], ()),
        (CLOCK, ()),
        (CLOCK[50:], ("number 0:0",)),
        ([("see https://a.example/b", "siehe https://a.example/b")] * 13, ()),
        ([("see https://a.example/b", "siehe dort")] * 13, ("url",)),
    ],
)
def test_what_hardly_any_target_keeps_is_changed(
    pairs: list[tuple[str, str]], changed: tuple[str, ...]
) -> None:
    assert changed_kinds(pairs) == changed


@pytest.mark.parametrize(
    ("without", "kept"),
    [
        ((), ["2026", "13:45", "7,5", "a@b.example"]),
        (("number 0:0",), ["2026", "7,5", "a@b.example"]),
        (("number 0:0", "number 0,0"), ["2026", "a@b.example"]),
        (("number", "email"), []),
    ],
)
def test_changed_shapes_are_not_carried(without: tuple[str, ...], kept: list[str]) -> None:
    found = find("2026 um 13:45 waren es 7,5 Liter, an a@b.example", without=without)
    assert [span.text for span in found] == kept


@pytest.mark.parametrize(
    ("target", "lost"),
    [
        ("from 3.5 to 3.5 l, 1,250.00 €", []),
        ("from €1,250.00 to 3.5 and 3.5", []),
        ("from 3.5 to 3.6 l, 1,250.00 €", ["3,5"]),
        ("from 3.5 to 3.5 l, 1,250.0 €", ["1.250,00 €"]),
        ("nothing", ["3,5", "3,5", "1.250,00 €"]),
    ],
)
def test_numbers_whose_digits_are_lost_are_named(target: str, lost: list[str]) -> None:
    assert lost_digits(find("von 3,5 bis 3,5 oder 1.250,00 €"), target) == lost


TOOLS = [(f"install lib{n}x here", f"lib{n}x hier") for n in range(100)]
WORDS = [(f"my-{'ab'[n % 2] * n} thing", "etwas anderes") for n in range(1, 101)]
FILMS = [("a DVD film", "ein Film")] * 3 + [("the DVD", "die DVD")] * 2


@pytest.mark.parametrize(
    ("pairs", "kept", "changed"),
    [
        ([], (), ()),
        (TOOLS, ("digits",), ()),
        (TOOLS[1:], (), ()),  # too few to tell
        (TOOLS + WORDS, ("digits",), ()),
        ([(source, "nichts") for source, _ in TOOLS], (), ()),
        (TOOLS[:80] * 2 + FILMS, ("digits",), ("word DVD",)),
        (TOOLS + FILMS[1:], ("digits",), ()),  # half of them
        (TOOLS + [("gtk3", "gtk")] * 3, ("digits",), ("word gtk3",)),
    ],
)
def test_a_corpus_decides_which_identifiers_are_kept(
    pairs: list[tuple[str, str]], kept: tuple[str, ...], changed: tuple[str, ...]
) -> None:
    assert kept_identifiers(pairs) == (kept, changed)


def test_a_run_that_never_learned_identifiers_carries_none() -> None:
    text = "gtk3, TCP/IP, --help, foo_bar, libX, apt-get, ASCII, 3.5"
    assert [span.text for span in find(text, CARRIED, not_kept({}))] == ["3.5"]
    assert [span.text for span in find(text, CARRIED, not_kept({"identifiers": ["digits", "capitals"]}))] == [
        "gtk3",
        "ASCII",
        "3.5",
    ]
    facts = {"identifiers": ["digits"], "changed": ["number", "word gtk3"]}
    assert find(text + " gtk4", CARRIED, not_kept(facts))[0].text == "gtk4"
