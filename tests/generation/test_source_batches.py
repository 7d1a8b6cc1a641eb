"""Batches of source lines."""

from hypothesis import given
from hypothesis import strategies as st

from multihead.search.phrase import Phrase
from multihead.tasks.translation.lines.batching import SourceLine, batch_by_length


@given(st.lists(st.tuples(st.integers(1, 31), st.booleans()), max_size=23))
def test_lines_with_phrases_have_batches_of_their_own(lengths: list[tuple[int, bool]]) -> None:
    phrases = (Phrase(((7,),)),)
    lines = [
        SourceLine("", [5] * length, (), index, phrases if has_phrases else ())
        for index, (length, has_phrases) in enumerate(lengths)
    ]
    batches = batch_by_length(lines, 37)
    assert sorted(line.index for batch in batches for line in batch) == list(range(len(lines)))
    for batch in batches:
        assert len({bool(line.phrases) for line in batch}) == 1
        longest = max(len(line.tokens) for line in batch)
        assert len(batch[0].tokens) == longest
        assert len(batch) == 1 or len(batch) * (longest + 1) <= 37
