"""Subtitles: cues are joined for translation and wrapped again; times and styles stay."""

from pathlib import Path

import pytest
from document_samples import samples
from hypothesis import given
from hypothesis import strategies as st

from multihead_documents import Document, Markup, open_document
from multihead_documents.errors import DocumentError
from multihead_documents.subtitle_pairs import subtitle_pairs
from multihead_documents.subtitles.line_wrapping import separator, width, wrap


def opened(folder: Path, name: str, text: str | bytes) -> Document:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_document(folder / name)


def test_lines_are_joined_and_dialogues_are_not(tmp_path: Path) -> None:
    document = opened(tmp_path, "film.srt", samples()["film.srt"])
    assert [str(segment.source) for segment in document.segments] == [
        "Guten Tag, mein Freund.",
        "Hallo?",
        "Ja, {1}du{/1} & {2}sie{/2} da.",
        "안녕하세요, 여러분.",
        "שלום {1}עולם{/1}",
        "東京都です。",
    ]
    assert [(s.key, s.start, s.end) for s in document.segments][1:4] == [
        ("2", 3.0, 4.0),
        ("2", 3.0, 4.0),
        ("4", 7.0, 8.0),
    ]


def test_notes_styles_and_broken_times_are_no_cues(tmp_path: Path) -> None:
    document = opened(tmp_path, "film.vtt", samples()["film.vtt"])
    assert [(s.speaker, str(s.source)) for s in document.segments] == [
        ("Roger & Co", "Hallo {1}Welt{/1} <3\xa0!"),
        ("Eva", "Ja, {1/}bitte."),
        ("", "مرحبا {1}world{/1}"),
    ]


CUES = st.lists(
    st.tuples(st.lists(st.sampled_from(["Ja.", "Nein, ich"]), max_size=3), st.booleans()), min_size=1
)


@given(CUES, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_times_begin_a_subtitle_even_without_a_blank_line(
    tmp_path_factory: pytest.TempPathFactory, cues: list[tuple[list[str], bool]], is_srt: bool, newline: str
) -> None:
    text, expected, times = ("\ufeff\n", [], []) if is_srt else ("WEBVTT\n\n", [], [])
    for number, (lines, blank) in enumerate(cues):
        times.append(f"00:00:{number % 60:02},000 --> 00:01:00,000".replace(",", "," if is_srt else "."))
        text += "\n".join([str(number), times[-1], *lines, ""]) + "\n" * blank
        expected += [" ".join(lines)] if lines else []
    name = "film.srt" if is_srt else "film.vtt"
    document = opened(tmp_path_factory.mktemp("film"), name, text.replace("\n", newline))
    assert [str(segment.source) for segment in document.segments] == expected
    changed = document.render({segment.number: "x" for segment in document.segments}).decode()
    assert [line.strip() for line in changed.split("\n") if "-->" in line] == times


def test_a_line_of_spaces_belongs_to_its_webvtt_cue(tmp_path: Path) -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n \nHallo<00:01.500><c> Welt</c>\n \n\nNOTE Notiz\n"
    document = opened(tmp_path, "film.vtt", text)
    assert [str(segment.source) for segment in document.segments] == ["Hallo{1/}{2} Welt{/2}"]


@pytest.mark.parametrize("times", ["00:00:03,000 -> 00:00:04,000", "-00:00:03,000 --> 00:00:04,000"])
def test_times_that_are_spoilt_are_no_text(times: str, tmp_path: Path) -> None:
    text = f"1\n00:00:01,000 --> 00:00:02,000\nJa.\n\n2\n{times}\nNein.\n"
    with pytest.raises(DocumentError, match=r"film\.srt:6: no times"):
        opened(tmp_path, "film.srt", text)


def test_a_translation_keeps_within_the_documents_lines(tmp_path: Path) -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nEine Zeile von genau sechsunddreißig Z.\nUnd eine zweite.\n"
    document = opened(tmp_path, "a.srt", text)
    words = "One line of this is much longer than what there is room for on a single line."
    lines = document.render({0: words}).decode().split("\n")[2:-1]
    assert lines == ["One line of this is much", "longer than what there is", "room for on a single line."]
    assert document.segments[0].max_length == 2 * 39


def test_wide_letters_take_two_columns() -> None:
    assert width("가나") == 4
    assert wrap([("가나다라 마바사아 자차카타", True)], 20, "\n", str) == "가나다라 마바사아\n자차카타"
    assert wrap([("東京都庁舎前駅", True)], 8, "\n", str) == "東京都庁\n舎前駅"
    assert wrap([("東京都庁。舎", True)], 8, "\n", str) == "東京都\n庁。舎"


def test_a_no_break_space_breaks_no_line() -> None:
    assert wrap([("ab cd\xa0ef gh", True)], 6, "\n", str) == "ab\ncd\xa0ef\ngh"


def test_a_tag_stays_with_its_word() -> None:
    pieces = [("one ", True), ("<i>", False), ("two three", True), ("</i>", False), (" four", True)]
    assert wrap(pieces, 8, "\n", str) == "one <i>two\nthree</i>\nfour"


@given(st.text("a가漢。 -\n", max_size=40), st.integers(1, 12))
def test_wrapping_is_undone_by_joining(text: str, limit: int) -> None:
    text = " ".join(text.split())
    lines = wrap([(text, True)], limit, "\n", str).split("\n")
    again = lines[0]
    for line in lines[1:]:
        again += separator(again, line) + line
    assert again == text


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(9, 20))
def test_wrapping_takes_as_few_lines_as_can_be(lengths: list[int], limit: int) -> None:
    words = ["a" * length for length in lengths]
    lines = wrap([(" ".join(words), True)], limit, "\n", str).split("\n")
    assert max(map(len, lines)) <= limit
    fewest = 1
    used = -1
    for word in words:
        if used + 1 + len(word) > limit:
            fewest, used = fewest + 1, -1
        used += 1 + len(word)
    assert len(lines) == fewest


def test_a_translation_cannot_add_a_cue_or_a_tag(tmp_path: Path) -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nHallo\n\n2\n00:00:03,000 --> 00:00:04,000\nWelt\n"
    document = opened(tmp_path, "a.srt", text)
    attack = "<b>x</b>\n\n3\n00:00:05,000 --> 00:00:06,000\n{\\an8}y"
    again = opened(tmp_path, "b.srt", document.render({0: attack}))
    assert [str(segment.source) for segment in again.segments] == [
        "‹b›x‹/b› 3 00:00:05,000 → 00:00:06,000 (\\an8)y",
        "Welt",
    ]


LEFT = """1
00:00:01,000 --> 00:00:02,000
Guten Tag.

2
00:00:03,000 --> 00:00:04,000
- Wer ist da?
- Ich.

3
00:00:05,000 --> 00:00:06,000
Ein Satz,

4
00:00:06,000 --> 00:00:07,000
der weitergeht.

5
00:00:20,000 --> 00:00:21,000
Ohne Gegenstück.
"""
RIGHT = """WEBVTT

00:01.100 --> 00:02.100
<i>Good day.</i>

00:02.900 --> 00:04.200
- Who's there?
- Me.

00:05.000 --> 00:07.000
A sentence that goes on.
"""


def test_two_files_of_one_film_are_aligned_by_time(tmp_path: Path) -> None:
    (tmp_path / "de.srt").write_text(LEFT)
    (tmp_path / "en.vtt").write_text(RIGHT)
    pairs = list(subtitle_pairs(tmp_path / "de.srt", tmp_path / "en.vtt"))
    assert [(pair.source.text, pair.target.text) for pair in pairs] == [
        ("Guten Tag.", "Good day."),
        ("Wer ist da? Ich.", "Who's there? Me."),
        ("Ein Satz, der weitergeht.", "A sentence that goes on."),
    ]
    assert pairs[2].place == f"{tmp_path / 'de.srt'}:12"
    assert pairs[0].source == Markup.of("Guten Tag.")


def test_files_of_different_cuts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "de.srt").write_text(LEFT)
    (tmp_path / "en.vtt").write_text(RIGHT.replace("00:0", "01:00:0"))
    with pytest.raises(DocumentError, match="only 0 of 3 subtitles are shown at the time of one in"):
        list(subtitle_pairs(tmp_path / "de.srt", tmp_path / "en.vtt"))
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(DocumentError, match="not a subtitle file"):
        list(subtitle_pairs(tmp_path / "a.txt", tmp_path / "en.vtt"))


@pytest.mark.parametrize(
    ("line", "segments"),
    [
        ("- ANNA: Guten Tag.\n- BEN (off): Hallo.", ["Guten Tag.", "Hallo."]),
        ("[Musik]", []),
        ("[Tür] ANNA: Wer ist da?", ["Wer ist da?"]),
        ("ANNA: Ich gehe\nnach Hause.", ["Ich gehe nach Hause."]),
        ("Um 12: Essen", ["Um 12: Essen"]),
    ],
)
def test_names_and_sounds_before_a_text_stay(line: str, segments: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text(f"1\n00:00:01,000 --> 00:00:02,000\n{line}\n", encoding="utf-8")
    document = open_document(tmp_path / "a.srt")
    assert [segment.source.text for segment in document.segments] == segments
    written = document.render({number: text.upper() for number, text in enumerate(segments)}).decode()
    for text in segments:
        assert text.upper() in written
    assert [name for name in ("ANNA:", "BEN (off):", "[Musik]", "[Tür]") if name in line] == [
        name for name in ("ANNA:", "BEN (off):", "[Musik]", "[Tür]") if name in written
    ]
