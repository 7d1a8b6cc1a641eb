"""Replacement of unknown tokens by the source words they attend to.

Jean et al. 2015, sec. 3.3; Luong et al. 2015. The attention weights come from a second, teacher-forced pass
over the outputs that have unknown tokens.
"""

from collections.abc import Sequence

from multihead.inspect.maps import Sentence, align, sentence
from multihead.inspect.maps.records import Attended
from multihead.text.tokenizer import Tokenizer


def replacement_words(
    attended: Attended,
    pairs: Sequence[tuple[str, Sequence[int]]],
    source: Tokenizer,
    target: Tokenizer,
) -> list[list[str]]:
    """Return, for each pair, the source word that each unknown token attends to most.

    Args:
        attended: function that returns the model's attention over the source; without attention, no words are
            returned.
        pairs: (source line, output tokens).
        source: source tokenizer.
        target: target tokenizer.
    """
    if not pairs:
        return []
    sources = [source.encode(line) for line, _ in pairs]
    targets = [list(tokens) for _, tokens in pairs]
    cross = attended(sources, targets)
    if not cross:
        return [[] for _ in pairs]
    replacements = []
    for index, (line, tokens) in enumerate(pairs):
        source_sentence = sentence(source, [*sources[index], source.eos_id])
        target_sentence = sentence(target, [*tokens, target.eos_id])
        positions = align(cross, source_sentence, target_sentence, index=index).matrix_TS.argmax(axis=1)
        words = _words(line, source, source_sentence)
        attended_words = [words[position] for position in positions]
        replacements.append(
            [word for token, word in zip(tokens, attended_words, strict=True) if token == target.unk_id]
        )
    return replacements


def _words(line: str, tokenizer: Tokenizer, words: Sentence) -> list[str]:
    """Return, for each token of a line, the word it belongs to, as spelled in the line."""
    pieces = tokenizer.pieces(line)
    numbers = [token.word for token in words.pieces[: len(pieces)]]
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for number, piece in zip(numbers, pieces, strict=True):
        starts.setdefault(number, piece.start)
        ends[number] = piece.end
    return [line[starts[number] : ends[number]] for number in numbers]
