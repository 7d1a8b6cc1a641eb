"""Attention of a masked language model over a text, with its predictions for each [MASK]."""

import numpy as np

from multihead.errors import UserError
from multihead.inspect.text_inspection import TOP_K, Predictions, TextInspection, check_text, inspect_encoder
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.masked.mask_tokens import MASK, encode_masked, mask_id


def inspect_masked_text(filler: MaskFiller, text: str) -> TextInspection:
    """Record the attention of a masked language model over a text, and its predictions for each [MASK].

    Args:
        filler: the model.
        text: a text, with or without "[MASK]".

    Raises:
        UserError: the text is empty or too long for the model.
    """
    check_text(text)
    tokenizer, mask = filler.tokenizer, mask_id(filler.tokenizer)
    has_masks = MASK in text
    ids = encode_masked(tokenizer, text) if has_masks else tokenizer.encode(text)
    limit = int(filler.model.limit)  # type: ignore[arg-type]
    if len(ids) > limit - 2:
        fact = f"the text has {len(ids):,} tokens, and the model takes at most {limit - 2:,}"
        raise UserError(fact, place="text", remedy="Shorten it.")
    masks = filler.fill(text, TOP_K).gaps if has_masks else []
    predictions = [
        Predictions(
            MASK if len(masks) == 1 else f"{MASK} {number}",
            {guess.piece: guess.probability for guess in guesses},
        )
        for number, guesses in enumerate(masks, start=1)
    ]
    standalone = () if mask is None else (mask,)
    return inspect_encoder(
        filler.model, tokenizer, text, (np.array(ids), None), standalone, tuple(predictions), filler.device
    )
