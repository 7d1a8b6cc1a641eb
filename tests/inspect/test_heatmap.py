"""Heat maps show their alignment, in any script."""

import base64
import re
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from multihead.errors import UserError
from multihead.inspect import figures, fonts
from multihead.inspect.figures import visible
from multihead.inspect.heatmap import heatmap
from multihead.inspect.maps import Alignment, TokenLabel
from multihead.inspect.maps.alignment import CAUTION

SVG = "{http://www.w3.org/2000/svg}"
HOW = "Attention over the source, layer 2 of 3, mean of 5 heads."


def tokens(words: str) -> tuple[TokenLabel, ...]:
    """Return tokens: subwords joined by "+" form a word."""
    return tuple(
        TokenLabel(piece, number) for number, word in enumerate(words.split(" ")) for piece in word.split("+")
    )


def an_alignment(source: str = "zwei+und+vierzig Hunde", target: str = "forty+-+two dogs") -> Alignment:
    columns, rows = tokens(source), tokens(target)
    weights = np.random.default_rng(1).gamma(0.5, size=(len(rows), len(columns)))
    return Alignment(
        (weights / weights.sum(1, keepdims=True)).astype(np.float32), rows, columns, f"{HOW} {CAUTION}"
    )


def texts(path: Path) -> list[str]:
    return [element.text or "" for element in ET.parse(path).iter(f"{SVG}text")]


def cells(path: Path) -> list[tuple[str, float, float]]:
    """Return colour and position (x, y) of each cell in an SVG."""
    groups = [g for g in ET.parse(path).iter(f"{SVG}g") if g.get("id", "").startswith("QuadMesh")]
    found = []
    for shape in groups[0].iter(f"{SVG}path"):
        colour = re.search(r"fill: (#[0-9a-f]{6})", shape.get("style", ""))
        start = re.match(r"M (\S+) (\S+)", shape.get("d", ""))
        assert colour
        assert start
        found.append((colour[1], float(start[1]), float(start[2])))
    return found


def test_the_map_contains_every_token_the_axes_and_the_caption(tmp_path: Path) -> None:
    heatmap(an_alignment(), tmp_path / "map.svg")
    written = texts(tmp_path / "map.svg")
    for token in ("zwei", "und", "vierzig", "Hunde", "forty", "-", "two", "dogs"):
        assert token in written
    assert "source token (key)" in written
    assert "output token (query)" in written
    whole = " ".join(written)
    assert HOW in whole
    assert CAUTION in whole


def test_larger_weights_are_darker_and_rows_are_outputs_from_the_top(tmp_path: Path) -> None:
    weights = np.array([[0.0, 0.3, 0.7], [1.0, 0.0, 0.0]], dtype=np.float32)
    heatmap(Alignment(weights, tokens("a b"), tokens("x y z"), CAUTION), tmp_path / "map.svg")
    found = sorted(cells(tmp_path / "map.svg"), key=lambda cell: (round(cell[2]), round(cell[1])))
    lightness = [sum(bytes.fromhex(colour[1:])) for colour, _, _ in found]
    assert len(found) == 6
    assert [sorted(lightness, reverse=True).index(light) for light in lightness] == [0, 3, 4, 5, 0, 0]


def test_the_colour_map_is_perceptually_even() -> None:
    from_light_to_dark = figures.SEQUENTIAL(np.linspace(0, 1, 64))[:, :3]
    linear = np.where(
        from_light_to_dark <= 0.04045,
        from_light_to_dark / 12.92,
        ((from_light_to_dark + 0.055) / 1.055) ** 2.4,
    )
    steps = -np.diff(np.cbrt(linear @ [0.2126, 0.7152, 0.0722]))
    assert (steps > 0).all()
    assert steps.max() < 5 * steps.min()


@pytest.mark.parametrize(("name", "magic"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.PDF", b"%PDF")])
def test_the_file_extension_chooses_the_format(name: str, magic: bytes, tmp_path: Path) -> None:
    heatmap(an_alignment(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_alignment_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        heatmap(an_alignment(), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


@pytest.mark.parametrize("name", ["map.gif", "map", "svg"])
def test_another_file_extension_is_refused_and_nothing_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Use \.svg, \.png or \.pdf"):
        heatmap(an_alignment(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        heatmap(an_alignment(), tmp_path / "none" / "map.svg")


def test_an_empty_alignment_is_a_user_error(tmp_path: Path) -> None:
    empty = Alignment(np.zeros((0, 3), dtype=np.float32), (), tokens("a b c"), CAUTION)
    with pytest.raises(UserError, match="no tokens"):
        heatmap(empty, tmp_path / "map.svg")


def test_weights_of_zero_can_be_drawn(tmp_path: Path) -> None:
    zero = Alignment(np.zeros((1, 1), dtype=np.float32), tokens("a"), tokens("b"), CAUTION)
    heatmap(zero, tmp_path / "map.svg")
    assert len(cells(tmp_path / "map.svg")) == 1


HOSTILE = [
    "<script>alert(1)</script>",
    "</text>",
    "&lt;b&gt;",
    "$x$",
    "$\\frac{",
    "]]>",
    "a\x00\x07\u2028b",
    "\ud800",
]


def test_a_hostile_token_is_displayed_and_never_executed(tmp_path: Path) -> None:
    heatmap(an_alignment(" ".join(HOSTILE), "ok"), tmp_path / "map.svg")
    written = texts(tmp_path / "map.svg")
    for shown in (
        "<script>alert(1)</scrip…",
        "</text>",
        "&lt;b&gt;",
        "$x$",
        "$\\frac{",
        "]]>",
        "a\\x00\\x07\\x2028b",
    ):
        assert shown in written
    assert not list(ET.parse(tmp_path / "map.svg").iter(f"{SVG}script"))


def test_long_tokens_are_truncated_with_an_ellipsis() -> None:
    assert visible("a" * 24) == "a" * 24
    assert visible("a" * 25) == "a" * 23 + "…"
    assert visible("\U0001f469\u200d\U0001f52c 한글 עברית") == "\U0001f469\u200d\U0001f52c 한글 עברית"


def test_korean_stays_text_in_svg(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heatmap(an_alignment("마흔+둘", "forty+-+two"), tmp_path / "map.svg")
    assert {"마흔", "둘"} <= set(texts(tmp_path / "map.svg"))
    assert "sans-serif" in (tmp_path / "map.svg").read_text(encoding="utf-8")


def test_characters_that_no_font_covers_cause_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fonts, "_candidates", lambda: ())
    with pytest.warns(UserWarning, match=r"no installed font has 마 흔.*Write \.svg"):
        heatmap(an_alignment("마흔", "forty"), tmp_path / "map.png")


def test_a_font_that_covers_the_characters_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    # DejaVu Sans Mono, shipped with Matplotlib, stands in for a font of the missing script.
    monkeypatch.setattr(fonts, "FIRST", "cmr10")
    monkeypatch.setattr(fonts, "_candidates", lambda: ("no such font", "cmex10", "DejaVu Sans Mono"))
    chosen, missing = fonts.families("two Привет 마")
    assert chosen == ["cmr10", "DejaVu Sans Mono"]
    assert missing == "마"


def test_fonts_of_boxes_and_bitmaps_are_not_candidates() -> None:
    assert not [name for name in fonts._candidates() if "Last Resort" in name or "Emoji" in name]


def test_the_default_font_covers_arabic_hebrew_and_cyrillic() -> None:
    assert fonts.families("שלום مرحبا Привет ▁…") == (["DejaVu Sans"], "")


def test_the_map_of_a_long_sentence_is_below_half_a_megabyte(tmp_path: Path) -> None:
    long = " ".join(f"w{number}" for number in range(83))
    heatmap(an_alignment(long, long), tmp_path / "map.svg")
    assert (tmp_path / "map.svg").stat().st_size < 500_000
    assert set(long.split()) <= set(texts(tmp_path / "map.svg"))
    images = [
        image.get("{http://www.w3.org/1999/xlink}href", "")
        for image in ET.parse(tmp_path / "map.svg").iter(f"{SVG}image")
    ]
    assert any(base64.b64decode(image.partition(",")[2]).startswith(b"\x89PNG") for image in images)


def test_the_users_matplotlib_defaults_are_neither_used_nor_changed(tmp_path: Path) -> None:
    heatmap(an_alignment(), tmp_path / "a.svg")
    with mpl.rc_context(
        {"text.usetex": True, "font.size": 31, "savefig.transparent": True, "svg.fonttype": "path"}
    ):
        heatmap(an_alignment(), tmp_path / "b.svg")
        assert mpl.rcParams["font.size"] == 31
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
