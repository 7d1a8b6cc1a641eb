"""Office and OpenDocument files, and an e-book, packed from the parts in ``tests/archives``."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

TYPES = {
    "odt": b"application/vnd.oasis.opendocument.text",
    "odp": b"application/vnd.oasis.opendocument.presentation",
    "ods": b"application/vnd.oasis.opendocument.spreadsheet",
    "epub": b"application/epub+zip",
}
FOLDER = Path(__file__).parents[1] / "archives"


def parts(kind: str) -> dict[str, bytes]:
    """Return the members of a document by their names."""
    folder = FOLDER / kind
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    if kind in TYPES:
        return {"mimetype": TYPES[kind], **found, "Pictures/1.png": b"\x89PNG"}
    main = {"docx": "word", "pptx": "ppt", "xlsx": "xl"}[kind]
    return {**found, f"{main}/media/image1.png": b"\x89PNG"}


def packed(members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive; pictures and the type at its beginning are not compressed."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive:
        archive.comment = b"comment"
        for number, (name, data) in enumerate(members.items()):
            entry = zipfile.ZipInfo(name, (1980 + number, 1, 2, 3, 4, 6))
            stored = name.endswith("png") or name == "mimetype"
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            entry.external_attr = number
    return result.getvalue()
