"""Document formats: read into segments with inline markup, written back with translations.

Whatever is not translated stays byte for byte as it was.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder) / "letter.txt"
...     _ = path.write_text("Guten Tag.\\r\\n\\r\\n  Bis bald!\\r\\n", newline="")
...     document = open_document(path)
...     print([str(segment.source) for segment in document.segments])
...     document.render({1: "See you soon!"})
['Guten Tag.', 'Bis bald!']
b'Guten Tag.\\r\\n\\r\\n  See you soon!\\r\\n'
"""

from multihead_documents.document import Document
from multihead_documents.errors import DocumentError
from multihead_documents.formats import BY_ENDING, FORMATS, Format, conversion, format_of
from multihead_documents.markup import Markup, Tag, carry, faults, repair
from multihead_documents.opening import open_document
from multihead_documents.segment import Plural, Segment, Translation

__all__ = [
    "BY_ENDING",
    "FORMATS",
    "Document",
    "DocumentError",
    "Format",
    "Markup",
    "Plural",
    "Segment",
    "Tag",
    "Translation",
    "carry",
    "conversion",
    "faults",
    "format_of",
    "open_document",
    "repair",
]
