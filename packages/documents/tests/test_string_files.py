"""String files of apps, damaged anywhere, end in the right answer or in an error for the user."""

import os
from pathlib import Path

import pytest
from document_samples import samples

from multihead_documents import Document, open_document
from multihead_documents.errors import DocumentError

ENDINGS = (".xml", ".resx", ".ts", ".strings", ".stringsdict", ".xcstrings")
SAMPLES = {
    name: data
    for name, data in samples().items()
    if name.endswith(ENDINGS) and not name.startswith(("crlf", "latin"))
}


PLACES = int(os.environ.get("PLACES", "60"))


def texts(document: Document) -> list[tuple[str, str, str]]:
    """Return keys and sources; plural forms that are added need not be the last."""
    return sorted((segment.key, segment.context, str(segment.source)) for segment in document.segments)


def damaged(data: bytes, place: int) -> list[bytes]:
    """Return the file cut off at a byte, without it, and with one bit of it flipped."""
    flipped = bytes([data[place] ^ (1 << place % 8)])
    return [data[:place], data[:place] + data[place + 1 :], data[:place] + flipped + data[place + 1 :]]


def read(path: Path, data: bytes) -> Document | None:
    """Read a file; None if it is refused, with its place and a remedy."""
    path.write_bytes(data)
    try:
        return open_document(path, target_language="ru")
    except DocumentError as error:
        assert str(path) in str(error.place)  # noqa: PT017
        assert error.remedy  # noqa: PT017
        return None


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_damaged_at_any_byte_is_read_or_refused(name: str, tmp_path: Path) -> None:
    data = SAMPLES[name]
    for place in range(len(name), len(data), len(data) // PLACES + 1):
        for changed in damaged(data, place):
            document = read(tmp_path / name, changed)
            if document is None:
                continue
            assert document.render({}) == changed
            targets = {segment.number: segment.source for segment in document.segments}
            again = read(tmp_path / name, document.render(targets))
            assert again
            assert texts(again) == texts(document)


@pytest.mark.parametrize("name", SAMPLES)
def test_an_element_that_ends_too_early_is_refused(name: str, tmp_path: Path) -> None:
    if not name.endswith(".strings"):
        assert read(tmp_path / name, SAMPLES[name].rstrip()[:-4]) is None
