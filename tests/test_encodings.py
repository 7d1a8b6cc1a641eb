"""The guess at an encoding: real sentences in the encodings that people's files have."""

import time

import pytest

from multihead.text.encodings import likely

SENTENCES = [
    ("cp949", "나는 학교에 갑니다. 오늘은 비가 온다."),
    ("cp949", "똠방각하와 펲시콜라"),
    ("cp949", "TV를 3시간 봤다, PC로."),
    ("shift_jis", "これは日本語の文です。カードをみる。"),
    ("gb18030", "我们今天去学校学习中文。"),
    ("big5", "我們今天去學校學習中文。"),
    ("cp1252", "Er fährt über die Straße."),
    ("cp1252", "l’été à la plage, où l’été"),
    ("cp1252", "¿Dónde está el niño?"),
    ("cp1251", "Он идёт в школу сегодня."),
    ("cp1250", "Zażółć gęślą jaźń, idę."),
    ("cp1250", "Příliš žluťoučký kůň"),
    ("cp1253", "Ωραία μέρα σήμερα"),
]


@pytest.mark.parametrize(("encoding", "sentence"), SENTENCES)
def test_the_encoding_of_a_sentence_is_found(encoding: str, sentence: str) -> None:
    raw = sentence.encode(encoding)
    with pytest.raises(UnicodeDecodeError) as caught:
        raw.decode()
    found = likely(raw, caught.value.start)
    assert found.startswith(f" ({encoding}, if ")
    assert sentence[:20] in found


def test_a_file_that_is_utf8_after_all_is_told() -> None:
    assert likely("schön".encode(), 3).startswith(" (utf-8, ")


def test_bytes_that_are_no_text_have_no_guess() -> None:
    assert likely(bytes(range(1, 256)), 127) == ""


def test_only_the_surroundings_of_a_long_line_are_judged_and_shown() -> None:
    noise = bytes(range(128, 256)) * 9
    line = noise + b" " + b"plain " * 700 + "fährt".encode("cp1252") + b" plain" * 700 + b" " + noise
    found = likely(line, line.index(b"\xe4h"))
    assert found.startswith(" (cp1252, ")
    assert "fährt" in found
    assert len(found) < 100


@pytest.mark.parametrize("offset", [0, 5_000_000, 9_999_999])
def test_a_line_of_megabytes_is_judged_at_once(offset: int) -> None:
    line = bytearray(b"x" * 10_000_000)
    line[offset] = 0xE4
    start = time.perf_counter()
    assert likely(bytes(line), offset).startswith(" (cp1252, ")
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("encoding", ["shift_jis", "cp949", "gb18030"])
@pytest.mark.parametrize("offset", [8_000, 8_001])
def test_a_long_line_without_spaces_is_cut_between_characters(encoding: str, offset: int) -> None:
    text = {
        "shift_jis": "ひらがなとカタカナと漢字",
        "cp949": "가나다라마바사아자차",
        "gb18030": "汉语没有空格的文章",
    }
    line = (text[encoding] * 4_000).encode(encoding)
    assert f"({encoding}, " in likely(line, offset)
