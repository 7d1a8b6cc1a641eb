"""Readers that share no code with ours accept what is written, and find in it what was translated."""

from collections.abc import Callable
from pathlib import Path

import pytest
from document_samples import samples

from multihead_documents import Markup, Translation, carry, open_document

SAMPLES = samples()
WORDS = 'Wörter & "mehr" <Zeichen>, 안녕\nשלום \\ %s'


def translated(name: str, folder: Path, words: str = WORDS, review: bool = False) -> tuple[Path, list[str]]:
    """Translate all segments of a sample; return the file and the texts, which begin with their numbers."""
    path = folder / name
    path.write_bytes(SAMPLES[name])
    document = open_document(path, target_language="ko" if name.endswith(("f", ".xcstrings")) else None)
    texts = [f"{segment.number} {words}" for segment in document.segments]
    targets = {
        segment.number: Translation(carry(segment.source, text), review)
        for segment, text in zip(document.segments, texts, strict=True)
    }
    out = folder / f"out-{name}"
    document.write(targets, out)
    return out, texts


@pytest.mark.parametrize("name", ["ko.po", "crlf-ko.po", "ru.po", "template.pot"])
@pytest.mark.parametrize("review", [False, True])
def test_polib_reads_our_catalogues(name: str, review: bool, tmp_path: Path) -> None:
    polib = pytest.importorskip("polib")
    out, texts = translated(name, tmp_path, review=review)
    found = polib.pofile(str(out), check_for_duplicates=True)
    forms = [
        form
        for entry in found
        if not entry.obsolete
        for form in (entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr])
    ]
    assert [form.strip() for form in forms] == texts
    assert all(entry.fuzzy == review for entry in found if not entry.obsolete)
    original = polib.pofile(str(tmp_path / name))
    assert found.metadata == original.metadata
    for new, old in zip(found, original, strict=True):
        assert (new.msgid, new.comment, new.occurrences, new.obsolete) == (
            old.msgid,
            old.comment,
            old.occurrences,
            old.obsolete,
        )
        assert {*new.flags} - {"fuzzy"} == {*old.flags} - {"fuzzy"}


@pytest.mark.parametrize("name", ["ko.po", "ru.po"])
def test_translate_toolkit_reads_our_catalogues(name: str, tmp_path: Path) -> None:
    pypo = pytest.importorskip("translate.storage.pypo")
    out, texts = translated(name, tmp_path)
    found = []
    for unit in pypo.pofile.parsefile(str(out)).units:
        if unit.istranslatable():
            found += [str(form).strip() for form in getattr(unit.target, "strings", [unit.target])]
    assert found == texts


@pytest.mark.parametrize("name", ["one.xlf", "crlf-one.xlf", "latin.xlf", "two.xlf", "crlf-two.xlf"])
def test_translate_toolkit_reads_our_xliff(name: str, tmp_path: Path) -> None:
    toolkit = pytest.importorskip("translate.storage.xliff").xlifffile
    if "two" in name:
        toolkit = pytest.importorskip("translate.storage.xliff2").Xliff2File
    out, texts = translated(name, tmp_path, "Wort <b>", review=True)
    before, after = (toolkit.parsefile(str(path)).units for path in (tmp_path / name, out))
    assert [unit.source for unit in after] == [unit.source for unit in before]
    assert [unit.getid() for unit in after] == [unit.getid() for unit in before]
    found = [unit for unit in after if unit.target]
    # Its plain text spells codes; two marks of a segmented unit are one target.
    assert " ".join(unit.target for unit in found).replace("<b></b>{0}", "") == " ".join(texts)
    assert "two" in name or all(unit.isreview() for unit in found)


@pytest.mark.parametrize("name", ["memory.tmx", "crlf-memory.tmx", "utf16.tmx"])
def test_translate_toolkit_reads_our_memories(name: str, tmp_path: Path) -> None:
    module = pytest.importorskip("translate.storage.tmx")
    out, texts = translated(name, tmp_path)
    with out.open("rb") as file:
        units = module.tmxfile(file, "de", "en").units
    found = [" ".join(str(unit.target).split()) for unit in units if unit.source]
    assert len(found) == len(texts)
    for text, entry in zip(texts, found, strict=True):
        assert entry.startswith(text[0])
        assert set(text.split()) - {"<Zeichen>,"} <= set(entry.split()) or "<b>" in entry


def test_lxml_finds_every_target_valid(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    for name in SAMPLES:
        if name.endswith((".xlf", ".tmx")):
            out, texts = translated(name, tmp_path)
            tree = etree.parse(str(out), etree.XMLParser(resolve_entities=False, no_network=True))
            tag = "seg" if name.endswith("tmx") else "target"
            found = [" ".join("".join(node.itertext()).split()) for node in tree.iter(f"{{*}}{tag}")]
            for text in texts:
                assert any(f"{' '.join(text.split()[:2])}" in entry for entry in found), (name, text)


@pytest.mark.parametrize("name", ["film.srt", "crlf-film.srt", "film.vtt", "crlf-film.vtt"])
def test_pysubs2_reads_our_subtitles(name: str, tmp_path: Path) -> None:
    pysubs2 = pytest.importorskip("pysubs2")
    out, texts = translated(name, tmp_path, "Wörter, 안녕 und vieles mehr, das nicht auf eine Zeile passt.")
    found, original = (
        pysubs2.load(str(path), keep_unknown_html_tags=True) for path in (out, tmp_path / name)
    )
    assert [(event.start, event.end) for event in found] == [(event.start, event.end) for event in original]
    shown = " ".join(" ".join(event.plaintext.split()) for event in found)
    for text in texts:
        assert text.split()[-1] in shown
    assert all(len(line) <= 60 for event in found for line in event.plaintext.split("\n"))


def _read_text(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").split("\n")


@pytest.mark.parametrize("read", [_read_text])
def test_a_text_has_as_many_lines_as_before(read: Callable[[Path], list[str]], tmp_path: Path) -> None:
    out, texts = translated("plain.txt", tmp_path)
    assert [line.strip() for line in read(out) if line.strip()] == [
        " ".join(text.split("\n")) for text in texts
    ]
    assert len(read(out)) == len(read(tmp_path / "plain.txt"))


def test_a_translation_without_its_tags_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.xlf").write_bytes(SAMPLES["one.xlf"])
    document = open_document(tmp_path / "one.xlf")
    with pytest.raises(ValueError, match=r"\{1\} is lost; \{2/\} is lost; \{/1\} is lost"):
        document.render({0: "안녕"})
    with pytest.raises(ValueError, match="no segment 999"):
        document.render({999: Markup.of("안녕")})
