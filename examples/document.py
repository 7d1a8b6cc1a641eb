"""Translate a Markdown document, markup kept: python examples/document.py [RUN DOCUMENT OUTPUT]."""

import sys
from pathlib import Path

import multihead
from multihead_documents import Translation, carry, open_document

run, name, output = sys.argv[1:] or ("runs/example", "runs/numbers.md", "runs/numbers.en.md")
if not Path(name).exists():
    Path(name).write_text(
        "# zweiundvierzig\n\n- sieben\n- **einhundertelf**\n\n`code` stays.\n", encoding="utf-8"
    )

translator = multihead.load(run)
document = open_document(name)
translations = {}
for segment in document.segments:
    text = translator.translate(segment.source.text)
    translations[segment.number] = Translation(carry(segment.source, text), review=True)
document.write(translations, Path(output))
print(Path(output).read_text(encoding="utf-8"))
