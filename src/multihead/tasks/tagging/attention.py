"""Attention of a tagger over a sentence, with its tags."""

from multihead.errors import UserError
from multihead.inspect.phrases import phrase
from multihead.inspect.text_inspection import BEYOND_LIMIT, Predictions, TextInspection, inspect_encoder
from multihead.tasks.tagging.tagged import encode_words
from multihead.tasks.tagging.tagger import Tagger


def inspect_tagging(tagger: Tagger, text: str) -> TextInspection:
    """Record the attention of a tagger over a sentence, and its tags.

    Args:
        tagger: the model.
        text: words with white space between them; truncated to the model's length.

    Raises:
        UserError: the text has no words.
    """
    words = text.split()
    if not words:
        raise UserError("the text has no words", place="text", remedy="Give a text.")
    (encoded,) = encode_words([words], tagger.tokenizer)
    limit = tagger.max_length - 2
    (tags,) = tagger.tag([words])
    tagged = " ".join(f"{word}/{tag}" for word, tag in zip(words, tags, strict=True))
    omitted = (phrase(BEYOND_LIMIT, limit, len(encoded.ids)),)
    return inspect_encoder(
        tagger.model,
        tagger.tokenizer,
        text,
        (encoded.ids[:limit], None),
        (),
        (Predictions("tags", {tagged: 1.0}),),
        tagger.device,
        omitted if len(encoded.ids) > limit else (),
    )
