import pytest
import torch
from gru import Gru

from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.lines.unknown import replacement_words
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

GERMAN = ["ein Hund und eine Katze"] * 3
ENGLISH = ["a dog and a cat"] * 3


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return train(ENGLISH, TokenizerSettings(kind="words", vocab_size=20))


class Diagonal(Gru):
    """Writes two tokens; each attends to the source's last, or first, word."""

    def __init__(self, source: Tokenizer, target: Tokenizer, tokens: list[int], *, last: bool) -> None:
        super().__init__(source.vocab_size, target.vocab_size)
        self.tokens, self.eos, self.last = tokens, target.eos_id, last
        self.attention.weights = self._weights  # type: ignore[method-assign]

    def _weights(self, q: torch.Tensor, k: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
        assert allowed is not None
        keys = torch.arange(k.shape[2])
        # The last allowed position holds the end symbol, the one before it the last word.
        wanted = (
            allowed.sum(-1, keepdim=True) - 2 if self.last else torch.zeros_like(allowed.sum(-1))[..., None]
        )
        weights = ((keys == wanted) & allowed).float() + 1e-3
        return (weights / weights.sum(-1, keepdim=True)).expand(q.shape[0], 1, q.shape[2], -1)

    def step(self, tokens_R: torch.Tensor, state: object) -> tuple[torch.Tensor, object]:  # type: ignore[override]
        logits, state = super().step(tokens_R, state)  # type: ignore[arg-type]
        following = dict(zip([2, *self.tokens], [*self.tokens, self.eos], strict=True))
        wanted = torch.tensor([following.get(int(token), self.eos) for token in tokens_R])
        return torch.zeros_like(logits).scatter(1, wanted[:, None], 9.0), state


@pytest.mark.parametrize("kind", ["words", "bpe"])
@pytest.mark.parametrize(("last", "copied"), [(True, "Mäuseschwänzchen"), (False, "ein")])
def test_an_unknown_token_is_replaced_by_the_source_word_it_attends_to(
    kind: str, last: bool, copied: str, english: Tokenizer
) -> None:
    settings = TokenizerSettings.model_validate({"kind": kind, "vocab_size": 300})
    german = train(GERMAN, settings)
    (a,) = english.encode("a")
    assert german.bos_id == english.bos_id == 2
    model = Diagonal(german, english, [a, english.unk_id], last=last)
    translator = Translator([model], german, english, device=torch.device("cpu"), precision="fp32")
    lines = ["ein Hund und Mäuseschwänzchen", "", "ein Mäuseschwänzchen"]
    # All other tokens are equally probable, so that five hypotheses may end before this one.
    found = translator.translate(lines, SearchSettings(stop="exact"))
    assert [t.text for t in found] == [f"a {copied}", "", f"a {copied}"]
    plain = translator.translate(lines, SearchSettings(stop="exact", replace_unknown=False))
    assert [t.text for t in plain] == ["a <unk>", "", "a <unk>"]


def test_a_model_without_attention_over_the_source_keeps_unknown_tokens(english: Tokenizer) -> None:
    class Blind(Gru):
        def _logits(
            self, hidden_BTd: torch.Tensor, memory: torch.Tensor, allowed: torch.Tensor
        ) -> torch.Tensor:
            logits: torch.Tensor = self.output(hidden_BTd)
            return logits

    german = train(GERMAN, TokenizerSettings(vocab_size=300))
    model = Blind(german.vocab_size, english.vocab_size)
    attended = Translator([model], german, english, device=torch.device("cpu")).attend_source
    assert replacement_words(attended, [("ein Hund", [english.unk_id])], german, english) == [[]]
    assert english.decode([english.unk_id], []) == "<unk>"
