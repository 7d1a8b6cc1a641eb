from pathlib import Path

import pytest

from multihead.data import vocabularies
from multihead.errors import UserError
from multihead.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train


def test_vocabularies_with_other_numbers_for_control_symbols_are_refused(tmp_path: Path) -> None:
    settings = TokenizerSettings(kind="chars", joint=False)
    ours = train(["ab ba", "abc"], settings)
    theirs = ours.to_json()
    for one, other in (('"<pad>"', '"<x>"'), ('"</s>"', '"<pad>"'), ('"<x>"', '"</s>"')):
        theirs = theirs.replace(one, other)
    swapped = Tokenizer.from_json(theirs)
    assert swapped.pad_id == ours.eos_id
    with pytest.raises(UserError, match="padding, begin and end symbol"):
        vocabularies.trained([ours, swapped], lambda: iter(()), 0, settings, lowercase=False)


def test_a_given_vocabulary_reads_lower_case_where_that_is_asked_for() -> None:
    settings = TokenizerSettings(kind="chars")
    ours = train(["abc ab"], settings)
    cased, lower = (
        vocabularies.trained([ours], lambda: iter(()), 0, settings, lowercase=lowercase)[0]
        for lowercase in (False, True)
    )
    assert lower.encode("AB") == ours.encode("ab") != cased.encode("AB")
