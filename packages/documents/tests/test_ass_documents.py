"""Advanced SubStation Alpha: the text of dialogues is translated, everything else stays byte for byte."""

from pathlib import Path

import pytest

from multihead_documents import Document, DocumentError, Markup, open_document

SAMPLE = Path(__file__).parent / "samples" / "film.ass"


def opened(folder: Path, dialogue: str) -> Document:
    head = SAMPLE.read_text(encoding="utf-8").partition("Comment:")[0]
    path = folder / "a.ass"
    path.write_text(
        f"{head}Dialogue: 0,0:00:01.00,0:00:02.50,Default,Anna,0,0,0,,{dialogue}\n", encoding="utf-8"
    )
    return open_document(path)


def test_dialogues_are_segments_with_their_times_and_speakers() -> None:
    document = open_document(SAMPLE)
    assert [str(segment.source) for segment in document.segments] == [
        "Ein {1}Hund{/1}, der läuft.{2/}Eine Katze.",
        "Guten Tag, Welt!",
    ]
    first = document.segments[0]
    assert (first.start, first.end, first.speaker) == (1.0, 2.5, "Anna")


def test_everything_but_the_text_stays_byte_for_byte() -> None:
    document = open_document(SAMPLE)
    targets = {
        segment.number: Markup.of(*(p.upper() if isinstance(p, str) else p for p in segment.source.pieces))
        for segment in document.segments
    }
    expected = SAMPLE.read_bytes().decode()
    for text in ("Ein ", "Hund", ", der läuft.", "Eine Katze.", "Guten Tag, Welt!"):
        expected = (
            expected.replace(text, text.upper()) if text != "Ein " else expected.replace("}Ein ", "}EIN ")
        )
    assert document.render(targets).decode() == expected
    assert document.render({}) == SAMPLE.read_bytes()


@pytest.mark.parametrize(
    ("dialogue", "source"),
    [
        (r"{\pos(1,2)\b1}a, b{\b0}", "a, b"),
        (r"{\k20}a{\k30} b", "a{1/} b"),
        (r"a\Nb\hc", "a{1/}b{2/}c"),
        (r"{\i1}a{\i0} {\i1}b{\i0}", "{1}a{/1} {2}b{/2}"),
        (r"a {\p1}m 0 0{\p0} b", "a {1/} b"),
        ("[door] BEN (off): a", "a"),
        ("♪ a", "♪ a"),
    ],
)
def test_codes_are_tags(dialogue: str, source: str, tmp_path: Path) -> None:
    assert [str(segment.source) for segment in opened(tmp_path, dialogue).segments] == [source]


def test_signs_of_codes_in_a_translation_are_replaced(tmp_path: Path) -> None:
    assert opened(tmp_path, "a").render({0: r"{\b1}x\Ny"}).decode().endswith(",,(\\b1)x⧵Ny\n")


@pytest.mark.parametrize(("old", "new"), [("Layer, ", ""), (", Text", ""), ("Format: L", "X: L")])
def test_dialogues_that_are_not_described_are_refused(old: str, new: str, tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8").replace(old, new)
    text = text.replace(",Default,Anna,0,0,0,,", ",") if old == "Layer, " else text
    (tmp_path / "a.ass").write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"a.ass:\d+"):
        open_document(tmp_path / "a.ass")
