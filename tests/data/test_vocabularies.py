from pathlib import Path

import pytest

from multihead.data import vocabularies
from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train


def test_vocabularies_with_different_ids_of_special_tokens_are_refused(tmp_path: Path) -> None:
    settings = TokenizerSettings(kind="chars", joint=False)
    ours = train(["ab ba", "abc"], settings)
    theirs = ours.to_json()
    for one, other in (('"<pad>"', '"<x>"'), ('"</s>"', '"<pad>"'), ('"<x>"', '"</s>"')):
        theirs = theirs.replace(one, other)
    swapped = Tokenizer.from_json(theirs)
    assert swapped.pad_id == ours.eos_id
    with pytest.raises(UserError, match="ids of padding, begin and end token differ"):
        vocabularies.train_tokenizers([ours, swapped], lambda: iter(()), 0, settings, lowercase=False)


def test_a_given_tokenizer_lower_cases_if_asked_for() -> None:
    settings = TokenizerSettings(kind="chars")
    ours = train(["abc ab"], settings)
    cased, lower = (
        vocabularies.train_tokenizers([ours], lambda: iter(()), 0, settings, lowercase=lowercase)[0]
        for lowercase in (False, True)
    )
    assert lower.encode("AB") == ours.encode("ab") != cased.encode("AB")
