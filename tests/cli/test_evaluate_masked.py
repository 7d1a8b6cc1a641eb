"""``multihead evaluate`` on masked language models, and on several models that do not translate."""

import json
from pathlib import Path

import pytest
import torch
from command_line import Captured, fail, run
from exported_runs import other_run
from torch.nn.functional import cross_entropy

from multihead.batch import MaskedBatch
from multihead.data.plan import Indices
from multihead.recipe.settings import TokenizerSettings
from multihead.tasks.masked import mask_tokens as masking
from multihead.tasks.masked.masked_likelihood import MaskedMeasure
from multihead.tasks.masked.masking import MaskedBatches
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

TEXTS = [f"large green circle {'small ' * n}square" for n in range(1, 12)]
SIZES = {"d_model": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}


@pytest.fixture
def words() -> Tokenizer:
    return train(TEXTS, TokenizerSettings(kind="words", vocab_size=31))


@pytest.fixture
def bert(tmp_path: Path, words: Tokenizer) -> Path:
    tokenizer = masking.with_mask(words)
    sizes = {**SIZES, "vocab_size": tokenizer.vocab_size, "max_positions": 128}
    return other_run(tmp_path / "bert", "bert", (tokenizer,), **sizes).folder


def test_masked_tokens_are_predicted_from_the_rest(
    bert: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\n".join([*TEXTS, "", "unheard"]), encoding="utf-8")
    made, make = [], MaskedBatches.__call__

    def recorded(self: MaskedBatches, rows: Indices, epoch: int) -> MaskedBatch:
        made.append(make(self, rows, epoch))
        return made[-1]

    monkeypatch.setattr(MaskedBatches, "__call__", recorded)
    out, _ = run(capfdbinary, "evaluate", bert, "--src", file, "--json")
    (found,) = json.loads(out).values()

    model = MaskedMeasure.load(bert, "cpu").model.eval()
    losses, right = [], []
    for batch in made:
        with torch.no_grad():
            logits = model(batch.input)[0].flatten(0, 1)[batch.places_M].float()
        losses.append(cross_entropy(logits, batch.answers_M, reduction="none"))
        right.append(logits.argmax(-1) == batch.answers_M)
    loss = torch.cat(losses)
    assert found["masked tokens"] == len(loss) >= len(TEXTS)
    assert found["perplexity"] == pytest.approx(loss.mean().exp().item(), rel=1e-5)
    assert found["accuracy"] == pytest.approx(torch.cat(right).float().mean().item())
    assert (found["texts"], found["empty"], found["cut off"], found["unknown tokens"]) == (12, 1, 0, 1)

    again, _ = run(capfdbinary, "evaluate", bert, "--src", file, "--json")
    assert again == out


def test_texts_longer_than_the_input_are_counted(bert: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    (tmp_path / "long.txt").write_text("green " * 200, encoding="utf-8")
    out, _ = run(capfdbinary, "evaluate", bert, "--src", tmp_path / "long.txt", "--json")
    (found,) = json.loads(out).values()
    assert found["cut off"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [("\n\n", "no text in it"), ("unheard\n", "every token is unknown to the model"), (None, "no such file")],
)
def test_a_file_without_known_text_is_refused(
    content: str | None, message: str, bert: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    if content is not None:
        (tmp_path / "a.txt").write_text(content, encoding="utf-8")
    assert message in fail(capfdbinary, "evaluate", bert, "--src", tmp_path / "a.txt")


def test_several_models_are_evaluated_one_after_the_other(
    bert: Path, tmp_path: Path, words: Tokenizer, capfdbinary: Captured
) -> None:
    tokenizer = masking.with_mask(words)
    other = other_run(
        tmp_path / "other", "bert", (tokenizer,), **SIZES, vocab_size=tokenizer.vocab_size, max_positions=256
    ).folder
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS), encoding="utf-8")
    out, _ = run(capfdbinary, "evaluate", bert, other, "--src", file)
    assert [line for line in out.splitlines() if line.endswith(":")] == [
        f"{bert} on {file}:",
        f"{other} on {file}:",
    ]
    out, _ = run(capfdbinary, "evaluate", bert, other, "--src", file, "--json")
    assert list(json.loads(out)) == [str(bert), str(other)]

    gpt = other_run(
        tmp_path / "gpt", "gpt", (words,), **SIZES, vocab_size=words.vocab_size, context=64
    ).folder
    error = fail(capfdbinary, "evaluate", bert, gpt, "--src", file)
    assert "models for text generation and masked language modelling" in error
