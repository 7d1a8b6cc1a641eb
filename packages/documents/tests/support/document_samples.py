"""Small documents of every format, with other line ends, byte-order marks and encodings."""

import json
from pathlib import Path

from archive_samples import packed, parts

FOLDER = Path(__file__).parents[1] / "samples"

TEXT = "\ufeffErste Zeile.\r\n\r\n\t  zweite \u3000 Zeile  \r\n안녕\nשלום"


def samples() -> dict[str, bytes]:
    """Return all samples by file name: the files of the folder, and what is made of them."""
    files = {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir())}
    crlf = {
        f"crlf-{name}": "\ufeff".encode() * (not name.endswith(".po")) + data.replace(b"\n", b"\r\n")
        for name, data in files.items()
    }
    xliff, memory, catalogue, page = (
        files[name].decode() for name in ("one.xlf", "memory.tmx", "ko.po", "page.html")
    )
    latin = xliff.replace("UTF-8", "iso-8859-1").encode("iso-8859-1", "xmlcharrefreplace")
    return {
        **files,
        **crlf,
        "utf8.properties": files["app.properties"] + "\nkorean = 안녕 = ä\n".encode(),
        "latin.properties": (files["app.properties"].decode() + "\numlaut = Grün\r").encode("iso-8859-1"),
        "ascii.json": json.dumps(json.loads(files["messages.json"]), indent=1).encode(),
        "letter.docx": packed(parts("docx")),
        "letter.odt": packed(parts("odt")),
        "book.epub": packed(parts("epub")),
        "talk.pptx": packed(parts("pptx")),
        "prices.xlsx": packed(parts("xlsx")),
        "talk.odp": packed(parts("odp")),
        "prices.ods": packed(parts("ods")),
        "notes.ipynb": notebook(files["page.md"].decode()),
        "plain.txt": TEXT.encode(),
        "utf16.txt": "안녕하세요.\r\n".encode("utf-16"),
        "template.pot": catalogue.replace("Language: ko", "Language: ").replace("긴 텍스트", "").encode(),
        "latin.xlf": latin,
        "utf16.strings": files["Localizable.strings"].decode().encode("utf-16"),
        "utf16.xml": files["strings.xml"].decode().replace("utf-8", "UTF-16").encode("utf-16"),
        "latin.resx": files["form.resx"]
        .decode()
        .replace("utf-8", "iso-8859-1")
        .encode("iso-8859-1", "xmlcharrefreplace"),
        "korean.htm": page.replace("utf-8", "EUC-KR").encode("cp949", "xmlcharrefreplace"),
        "utf16.tmx": memory.replace('"1.0"', '"1.0" encoding="UTF-16"').encode("utf-16"),
    }


def notebook(page: str) -> bytes:
    """Return a notebook with this page of Markdown, code, and a cell that is one string."""
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "metadata": {}, "source": page.splitlines(keepends=True)},
        {"cell_type": "code", "metadata": {}, "source": ["print('bleibt')"], "outputs": []},
        {"cell_type": "markdown", "metadata": {}, "source": "Ein **letzter** Satz."},
    ]
    return json.dumps({"cells": cells, "nbformat": 4}, indent=1, ensure_ascii=False).encode()
