"""Places of a translated document to review, and the reasons."""

from typing import Any, NamedTuple

from multihead.apps.documents.document_journal import spell
from multihead.apps.documents.message_directives import directive_faults, remove_numbers, text_of
from multihead.apps.documents.translation_memory import TranslationMemory
from multihead.data.documents.library import Segment, to_document
from multihead.tasks.translation.texts.text_results import TextTranslation
from multihead.text import format_strings

KEPT = "kept as it is"
"""Warning for a text without a translation by the model."""
UNSURE = "low confidence"


class ReviewNote(NamedTuple):
    """A place in a document to review, and why.

    Attributes:
        place: where it is in the document.
        reason: why it should be reviewed.
        source: the segment; "" for a part of the document that is no segment.
        translation: its translation.
    """

    place: str
    reason: str
    source: str = ""
    translation: str = ""


def translation_record(
    segment: Segment, translation: TextTranslation, messages: str, memory: TranslationMemory | None
) -> dict[str, Any]:
    """Return a translated segment as a line of the journal."""
    reasons = [
        f"set where the source has it: {format_strings.without_numbers(name, text_of(segment.source))}"
        for name in translation.unplaced
    ]
    reasons += [f"without the term for: {term.source}" for term in translation.missing]
    reasons += translation.warnings
    written, problems = remove_numbers(segment, to_document(translation.markup), messages)
    reasons += problems or directive_faults(segment, written, messages)
    target = spell(written)
    if not translation.text.strip():
        # Nobody would notice a text that is missing from the document.
        target = spell(segment.source)
        reasons.append(KEPT)
    if segment.max_length is not None and len(translation.text) > segment.max_length:
        reasons.append(f"{len(translation.text):,} characters, more than the {segment.max_length:,} allowed")
    if memory and (similar := memory.find_similar(segment.source)):
        reasons.append(
            f"the memory has a similar text ({similar.similarity:.0%}, {similar.place}): "
            f"{similar.source} -> {similar.target}"
        )
    if translation.doubtful and not reasons:
        reasons.append(UNSURE)
    return {"number": segment.number, "target": target, "reasons": reasons}
