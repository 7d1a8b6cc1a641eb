"""Unknown words: the most attended source word takes their place (Luong et al. 2015; Jean et al. 2015).

Only tokenizers without byte fallback write unknown pieces (words, WordPiece).
"""

from collections.abc import Sequence
from itertools import groupby

from torch import nn

from multihead.attention_maps.alignment import Floats, align, merge_words
from multihead.attention_maps.record import record
from multihead.attention_maps.tokens import sentence
from multihead.data.batches import collate
from multihead.text.tokenizer import UNKNOWN, Tokenizer


def words_for_unknown(
    model: nn.Module,
    tokenizers: tuple[Tokenizer, Tokenizer],
    sources: Sequence[str],
    outputs: Sequence[Sequence[int]],
) -> list[list[str]]:
    """Return for each output the words that take the places of its unknown pieces, in order.

    They are what ``Tokenizer.decode`` takes as ``unknown``. The outputs that have any are run through the
    model once more, in one batch; where it has no attention over the source, "<unk>" stays.

    Args:
        model: has ``score(batch)``, see ``record``.
        tokenizers: of the source and of the target.
        sources: B texts.
        outputs: B sequences of target ids without begin and end symbol.
    """
    source, target = tokenizers
    found: list[list[str]] = [[] for _ in sources]
    places = [place for place, ids in enumerate(outputs) if target.unk_id in ids]
    if not places:
        return found
    read, written = [source.encode(sources[place]) for place in places], [outputs[place] for place in places]
    records = record(
        model,
        collate(read, written, pad_id=target.pad_id, bos_id=target.bos_id, eos_id=target.eos_id),
    )
    for index, place in enumerate(places if any(one.kind == "cross" for one in records) else ()):
        alignment = align(
            records,
            sentence(source, [*read[index], source.eos_id]),
            sentence(target, [*written[index], target.eos_id]),
            index=index,
        )
        by_word = merge_words(
            alignment.matrix_TS, range(len(alignment.target)), [token.word for token in alignment.source]
        )
        pieces = [target.piece(id) for id in written[index]]
        replaced = replace_unknown(
            _words(source, sources[place]), pieces, by_word, target.piece(target.unk_id)
        )
        found[place] = [
            word for word, id in zip(replaced, written[index], strict=True) if id == target.unk_id
        ]
    return found


def replace_unknown(
    source_words: Sequence[str], target_pieces: Sequence[str], matrix_TS: Floats, unknown: str = UNKNOWN
) -> list[str]:
    """Return the target's pieces, each unknown one replaced by the source word that it looks at most.

    A row of zeros looks at none, and its piece stays.

    Args:
        source_words: S words.
        target_pieces: T pieces.
        matrix_TS: the alignment, target pieces by source words.
        unknown: what an unknown piece is written as.
    """
    return [
        source_words[int(row.argmax())] if piece == unknown and row.any() else piece
        for piece, row in zip(target_pieces, matrix_TS, strict=True)
    ]


def _words(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a text as they stand in it, even where the tokenizer does not know them."""
    pieces = tokenizer.pieces(text)
    tokens = sentence(tokenizer, [piece.id for piece in pieces]).pieces
    words = []
    for _, places in groupby(range(len(pieces)), key=lambda place: tokens[place].word):
        inside = [pieces[place] for place in places]
        words.append(text[inside[0].start : inside[-1].end])
    return words
