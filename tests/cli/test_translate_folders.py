"""``multihead translate RUN FOLDER`` and several documents in one command."""

from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead import cli
from multihead.apps.documents import finished_documents
from multihead.apps.documents.translating_folders import plan_translations
from multihead_documents import open_document


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """A folder of documents, and of files that are none."""
    folder = tmp_path / "manual"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "a.md").write_text("# eins zwei\n", encoding="utf-8")
    (folder / "deep" / "b.txt").write_text("drei\n", encoding="utf-8")
    (folder / "deep" / "er" / "c.html").write_text("<p>vier", encoding="utf-8")
    (folder / "settings.json").write_text('{"key": "eins"}', encoding="utf-8")
    (folder / ".git" / "d.txt").write_text("eins\n", encoding="utf-8")
    (folder / "image.PNG").write_bytes(b"\x89PNG")
    (folder / "Makefile").write_text("all:\n", encoding="utf-8")
    return folder


def texts(folder: Path) -> dict[str, list[str]]:
    """Return the texts of all documents below a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    return {
        path.relative_to(folder).as_posix(): [one.source.text for one in open_document(path).segments]
        for path in found
    }


def test_a_folder_is_translated_into_another(trained: Path, manual: Path, capfdbinary: Captured) -> None:
    _, messages = run(capfdbinary, "translate", trained, manual)
    made = manual.parent / "manual.en"
    assert list(texts(made)) == ["a.md", "deep/b.txt", "deep/er/c.html"]
    assert (made / "deep" / "er" / "c.html").read_text().startswith("<p>")
    assert "3 other files were left out: 1 .json, 1 .png, 1 Makefile; --only names" in messages
    assert sorted(path.name for path in manual.parent.iterdir() if "manual" in path.name) == [
        "manual",
        "manual.en",
    ]

    one = trained.parent / "a.en.md"
    run(capfdbinary, "translate", trained, manual / "a.md", "-o", one)
    assert one.read_bytes() == (made / "a.md").read_bytes()


def test_empty_documents_of_a_folder_stay_empty(trained: Path, manual: Path, capfdbinary: Captured) -> None:
    (manual / "deep" / "empty.md").touch()
    _, messages = run(capfdbinary, "translate", trained, manual)
    assert (manual.parent / "manual.en" / "deep" / "empty.md").read_bytes() == b""
    assert "1 empty documents stay empty" in messages


def test_one_broken_document_does_not_stop_the_others_and_the_rest_is_not_repeated(
    trained: Path, manual: Path, capfdbinary: Captured
) -> None:
    (manual / "b.docx").write_bytes(b"PK, but no archive")
    assert cli.main(["translate", str(trained), str(manual)]) == 1
    messages = capfdbinary.readouterr().err.decode()
    assert "b.docx: a damaged archive" in messages
    assert "1 of 4 documents were not translated" in messages
    made = manual.parent / "manual.en"
    assert list(texts(made)) == ["a.md", "deep/b.txt", "deep/er/c.html"]
    (made / "a.md").write_text("# mended by hand\n", encoding="utf-8")
    (manual / "deep" / "b.txt").write_text("vier\n", encoding="utf-8")

    (manual / "b.docx").unlink()
    _, messages = run(capfdbinary, "translate", trained, manual)
    assert "because nothing has changed: 1" in messages
    assert "kept, because changed by hand" in messages
    assert str(made / "a.md") in "".join(messages.split())
    assert (made / "a.md").read_text() == "# mended by hand\n"
    assert texts(made)["deep/b.txt"] != ["drei"]


def test_corrections_of_translations_are_kept(trained: Path, manual: Path, capfdbinary: Captured) -> None:
    run(capfdbinary, "translate", trained, manual)
    page = manual.parent / "manual.en" / "a.md"
    first = page.read_text()
    _, messages = run(capfdbinary, "translate", trained, manual)
    assert "because nothing has changed: 3" in messages
    page.write_text("# mended by hand\n", encoding="utf-8")
    (manual / "a.md").write_text("# eins zwei drei\n", encoding="utf-8")
    for _ in range(2):
        _, messages = run(capfdbinary, "translate", trained, manual)
        assert "because nothing has changed: 2" in messages
        assert "--again replaces them" in " ".join(messages.split())
        assert page.read_text() == "# mended by hand\n"
    (manual / "a.md").write_text("# eins zwei\n", encoding="utf-8")
    run(capfdbinary, "translate", trained, manual, "--again")
    assert page.read_text() == first
    _, messages = run(capfdbinary, "translate", trained, manual)
    assert "because nothing has changed: 3" in messages
    (page.parent / ".multihead-translated.jsonl").write_text("spoilt")
    _, messages = run(capfdbinary, "translate", trained, manual)
    assert "kept, because changed by hand or not written by this command" in " ".join(messages.split())


def test_corrections_go_into_the_next_translation(trained: Path, manual: Path, capfdbinary: Captured) -> None:
    source = "# eins zwei\n\ndrei vier fünf sechs\n\nsieben\n"
    (manual / "a.md").write_text(source, encoding="utf-8")
    run(capfdbinary, "translate", trained, manual)
    page, memory = manual.parent / "manual.en" / "a.md", manual.parent / "corrected.tmx"
    heading, _, end = page.read_text().split("\n\n")
    page.write_text(f"{heading}\n\nby hand, number 3, 4, 5 and 6\n\n{end}", encoding="utf-8")
    align = ("align", manual, page.parent, "--src-lang", "de", "-o", memory)
    _, messages = run(capfdbinary, *align)
    assert "has changed" not in messages
    (manual / "a.md").write_text(f"{source}\nacht neun\n", encoding="utf-8")
    run(capfdbinary, "translate", trained, manual, "--tm", memory, "--again")
    assert page.read_text().split("\n\n")[:3] == [heading, "by hand, number 3, 4, 5 and 6", end.strip()]
    assert len(page.read_text().split("\n\n")) == 4
    (manual / "a.md").write_text(f"# acht\n\n{source}", encoding="utf-8")
    _, messages = run(capfdbinary, *align)
    assert "a.md has changed since it was translated" in " ".join(messages.split())


def test_another_setting_translates_all_again(trained: Path, manual: Path, capfdbinary: Captured) -> None:
    (manual / "b.docx").write_bytes(b"PK, but no archive")
    assert cli.main(["translate", str(trained), str(manual)]) == 1
    capfdbinary.readouterr()
    assert cli.main(["translate", str(trained), str(manual), "--beam-size", "2"]) == 1
    assert "nothing has changed" not in capfdbinary.readouterr().err.decode()


def test_several_documents_are_named_after_the_language_or_go_to_a_folder(
    trained: Path, manual: Path, capfdbinary: Captured
) -> None:
    run(capfdbinary, "translate", trained, manual / "a.md", manual / "deep" / "b.txt")
    assert (manual / "a.en.md").exists()
    assert (manual / "deep" / "b.en.txt").exists()
    out = manual.parent / "all"
    run(capfdbinary, "translate", trained, manual / "a.md", manual / "deep", "-o", out)
    assert list(texts(out)) == ["a.md", "deep/b.en.txt", "deep/b.txt", "deep/er/c.html"]


def test_a_translation_beside_its_document_is_not_lost(
    trained: Path, manual: Path, capfdbinary: Captured
) -> None:
    page, made = manual / "a.md", manual / "a.en.md"
    run(capfdbinary, "translate", trained, page)
    first = made.read_text()
    _, messages = run(capfdbinary, "translate", trained, page)
    assert "not translated again, because nothing has changed" in " ".join(messages.split())
    page.write_text("# eins zwei drei\n", encoding="utf-8")
    run(capfdbinary, "translate", trained, page)  # an own translation is replaced
    assert made.read_text() != first
    made.write_text("# mended by hand\n", encoding="utf-8")
    message = fail(capfdbinary, "translate", trained, page)
    assert "changed by hand, or not written by this command" in " ".join(message.split())
    _, messages = run(capfdbinary, "translate", trained, page, manual / "deep" / "b.txt")
    assert "--again replaces them" in " ".join(messages.split())
    assert made.read_text() == "# mended by hand\n"
    run(capfdbinary, "translate", trained, page, "-o", manual / "other.md")
    run(capfdbinary, "translate", trained, page, "-o", manual / "other.md")  # a name that was typed
    run(capfdbinary, "translate", trained, page, "--again")
    assert made.read_text() == (manual / "other.md").read_text()
    page.write_text("# eins zwei drei vier\n", encoding="utf-8")
    for translation in (made, manual / "other.md"):
        align = ("align", page, translation, "--src-lang", "de", "--tgt-lang", "en", "-o", manual / "x.tmx")
        _, messages = run(capfdbinary, *align)
        assert "a.md has changed since it was translated" in " ".join(messages.split())


def test_a_translation_of_somebody_else_is_not_replaced(
    trained: Path, manual: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = manual / "a.en.md"
    made.write_text("# by a translator\n", encoding="utf-8")
    assert "--again replaces it" in fail(capfdbinary, "translate", trained, manual / "a.md")
    assert made.read_text() == "# by a translator\n"
    made.write_text("", encoding="utf-8")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # nothing can be recorded
    run(capfdbinary, "translate", trained, manual / "a.md")
    assert "--again replaces it" in fail(capfdbinary, "translate", trained, manual / "a.md")
    missing = manual / "missing.md"
    assert "no such file" in fail(capfdbinary, "translate", trained, missing)


def test_a_folder_inside_its_own_translation_is_not_read(manual: Path) -> None:
    out = manual / "en"
    out.mkdir()
    (out / "old.md").write_text("old", encoding="utf-8")
    plan = plan_translations([manual], out, "en")
    assert [to.relative_to(out).as_posix() for _, to in plan.documents] == [
        "a.md",
        "deep/b.txt",
        "deep/er/c.html",
    ]


def test_only_what_is_named_is_translated(trained: Path, manual: Path, capfdbinary: Captured) -> None:
    _, messages = run(capfdbinary, "translate", trained, manual, "--only", "*.json", "a.*")
    assert list(texts(manual.parent / "manual.en")) == ["a.md", "settings.json"]
    assert "4 other files were left out" in messages
    assert "--only" not in messages
    assert "no document in it" in fail(capfdbinary, "translate", trained, manual, "--only", "*.docx")
    assert "it has no effect without a folder" in fail(
        capfdbinary, "translate", trained, manual / "a.md", "--only", "*.md"
    )


def test_links_and_hidden_files_are_left_out(manual: Path) -> None:
    (manual / "link.txt").symlink_to(manual / "deep" / "b.txt")
    (manual / "loop").symlink_to(manual)
    (manual / ".hidden.txt").write_text("x", encoding="utf-8")
    assert len(plan_translations([manual], None, "en").documents) == 3


@pytest.mark.parametrize(
    ("folder", "expected"), [("manual", "manual.en"), ("v1.2", "v1.2.en"), ("a b", "a b.en")]
)
def test_a_translation_is_named_after_its_folder(folder: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "a.md").write_text("x", encoding="utf-8")
    assert plan_translations([tmp_path / folder], None, "en").root == tmp_path / expected


def test_what_cannot_be_planned_is_refused(trained: Path, manual: Path, capfdbinary: Captured) -> None:
    def refused(*names: object) -> str:
        return fail(capfdbinary, "translate", trained, *names)

    empty = manual.parent / "empty"
    empty.mkdir()
    assert "no document in it. Documents end in" in refused(empty)
    assert "the output would overwrite the documents" in refused(manual, "-o", manual)
    assert "the output would overwrite the documents" in refused(
        manual / "a.md", manual / "deep", "-o", manual
    )
    assert "a file. Name a folder" in refused(manual, "-o", manual / "a.md")
    assert "no such folder" in refused(manual, "-o", manual / "x" / "y")
    assert "Name a folder for all of them: -o FOLDER." in refused(manual, manual / "a.md")
    assert "2 documents would be written to it" in refused(
        manual / "a.md", manual / "deep" / ".." / "a.md", "-o", manual.parent / "out"
    )
    assert "it has no effect on a document" in refused(manual, "--scores")
    half = manual.parent / "half"
    half.mkdir()
    (half / "model.json").write_text("{}", encoding="utf-8")
    assert "half: not a run folder" in refused(half)


def test_a_second_command_on_the_same_folder_is_refused(
    trained: Path, manual: Path, capfdbinary: Captured
) -> None:
    with finished_documents.find_finished(manual.parent / "manual.en"):
        assert "another process is translating into the same" in fail(
            capfdbinary, "translate", trained, manual
        )
