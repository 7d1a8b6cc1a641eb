"""The words that stand in for unknown pieces: copied from the source, found through attention.

Where the model wrote an unknown piece, the source word that it looked at most is put (Jean et al. 2015,
sec. 3.3; Luong et al. 2015). The outputs concerned are run once more, teacher-forced, and recorded there.
"""

from collections.abc import Sequence

from torch import nn

from multihead.attention_maps import Sentence, align, record, sentence
from multihead.data.batches import collate
from multihead.text.tokenizer import Tokenizer


def stand_ins(
    model: nn.Module,
    pairs: Sequence[tuple[str, Sequence[int]]],
    source: Tokenizer,
    target: Tokenizer,
) -> list[list[str]]:
    """Return, for each pair, the source words for its unknown pieces, in the order of those.

    Args:
        model: has attention over the source; without, there are no words to return.
        pairs: (source line, output tokens).
        source: the source vocabulary.
        target: the target vocabulary.
    """
    if not pairs:
        return []
    sources = [source.encode(line) for line, _ in pairs]
    targets = [list(tokens) for _, tokens in pairs]
    batch = collate(sources, targets, pad_id=target.pad_id, bos_id=target.bos_id, eos_id=target.eos_id)
    cross = [one for one in record(model, batch) if one.kind == "cross"]
    if not cross:
        return [[] for _ in pairs]
    found = []
    for index, (line, tokens) in enumerate(pairs):
        read = sentence(source, [*sources[index], source.eos_id])
        written = sentence(target, [*tokens, target.eos_id])
        places = align(cross, read, written, index=index).matrix_TS.argmax(axis=1)
        words = _words(line, source, read)
        looked_at = [words[place] for place in places]
        found.append([word for token, word in zip(tokens, looked_at, strict=True) if token == target.unk_id])
    return found


def _words(line: str, tokenizer: Tokenizer, read: Sentence) -> list[str]:
    """For each piece of a line, the word that it belongs to, as the line has it."""
    pieces = tokenizer.pieces(line)
    numbers = [token.word for token in read.pieces[: len(pieces)]]
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for number, piece in zip(numbers, pieces, strict=True):
        starts.setdefault(number, piece.start)
        ends[number] = piece.end
    return [line[starts[number] : ends[number]] for number in numbers]
