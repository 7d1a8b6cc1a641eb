"""Links between pages of Markdown lead to their headings after these are translated."""

from pathlib import Path

from capitals import written
from scripted_translator import ScriptedTranslator

from multihead.apps.documents.page_links import linked_places
from multihead.apps.documents.translating_documents import DocumentRequest, translate_document
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.training import train
from multihead_documents import open_document


def test_places_that_other_pages_link_to_are_found_however_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    pages = {
        "a.md": "[own](a.md#own) [x](deep/b.md#one) [y](<./deep/#two>) [z] [v](no.md#v)\n\n"
        "[z]: deep/b#three\n",
        "deep/b.md": "[up](../a.md#four%20x) [web](https://a.b/a.md#five) [other](c.txt#six)\n",
        "deep/index.md": '<a href="../a#seven">a</a> [root](../#eight)\n',
        "README.md": "# Title\n",
        "deep/c.txt": "no page\n",
    }
    paths = [written(tmp_path, name, text) for name, text in pages.items()]
    found = {path.relative_to(tmp_path).as_posix(): sorted(one) for path, one in linked_places(paths).items()}
    assert found == {
        "a.md": ["four%20x", "seven"],
        "deep/b.md": ["one", "three"],
        "deep/index.md": ["two"],
        "README.md": ["eight"],
    }


def test_titles_that_labels_do_not_define_are_found(tmp_path: Path) -> None:
    pages = {
        "a.rst": ":ref:`Set up` :ref:`here <label>` :ref:`x <The  End>`\n\n.. _label:\n\nOne\n===\n",
        "b.rst": "Set up\n======\n",
    }
    paths = [written(tmp_path, name, text) for name, text in pages.items()]
    assert linked_places(paths) == {path: {"set up", "the end"} for path in paths}
    document = open_document(paths[1])
    assert document.render({0: "Start"}) == b"Start\n=====\n"
    document.note_links({"set up"})
    assert document.render({0: "Start"}) == b".. _`Set up`:\n\nStart\n=====\n"


def test_a_heading_that_another_page_names_gets_an_anchor(tmp_path: Path) -> None:
    tokenizer = train(["eins zwei"] * 3, TokenizerSettings(kind="chars", vocab_size=400))
    translator = TextTranslator(ScriptedTranslator(tokenizer, lambda line, _: [line[::-1]]), "de", "en")
    page = written(tmp_path, "a.md", "# eins zwei\n\n## drei {#drei}\n")
    linked = frozenset(("eins-zwei", "drei"))
    request = DocumentRequest(page, tmp_path / "b.md", SearchSettings(), linked=linked)
    translate_document(request, translator, [])
    assert request.output.read_text() == '# <a id="eins-zwei"></a>iewz snie\n\n## ierd {#drei}\n'
