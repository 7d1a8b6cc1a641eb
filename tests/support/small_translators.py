"""Small untrained translators for tests of the inspection page."""

from dataclasses import replace
from typing import Any

import torch

from multihead.data.batches import collate
from multihead.models import rnn_attention, seq2seq
from multihead.models.transformer import Settings, Transformer
from multihead.nn.losses import objective
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.page import Exploration
from multihead.text.training import train

GERMAN = ["ein Hund und zwei Katzen laufen .", "die Hunde schlafen"]
ENGLISH = ["a dog and two cats run .", "the dogs sleep"]
HOSTILE = ["<script>window.hacked=1</script>", "</script>", "&lt;img onerror=hacked&gt;", "a\u2028b", "<!--"]
"""Tokens that would be executed or end an element if text were interpreted as markup."""


def small_translator(**changed: Any) -> Translator:
    """Return an untrained Transformer of 2 + 2 layers and 3 heads, with a beam size of 3."""
    given: dict[str, Any] = {"d_model": 24, "d_ff": 37, "num_layers": 2, "num_heads": 3, "tied": "none"}
    return _translator(Transformer, Settings, given | changed)


def trained_translator(steps: int = 60) -> Translator:
    """Return a small Transformer that has learned the sentences of this file by heart."""
    made = small_translator(dropout=0.0)
    (model,) = made.models
    source, target = made.source_tokenizer, made.target_tokenizer
    ids = (target.pad_id, target.bos_id, target.eos_id)
    pairs = [source.encode_batch(GERMAN), target.encode_batch(ENGLISH)]
    batch = collate(*pairs, pad_id=ids[0], bos_id=ids[1], eos_id=ids[2])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        optimizer.zero_grad()
        objective(model.loss(batch, step), batch.counts).backward()  # type: ignore[no-untyped-call, operator]
        optimizer.step()
    made.settings = made.settings.model_copy(update={"max_length": 0})
    return made


def recurrent_translator(kind: str) -> Translator:
    """Return an untrained recurrent model, with or without attention over the source."""
    module = {"rnn_attention": rnn_attention, "seq2seq": seq2seq}[kind]
    return _translator(module.Model, module.Settings, {"d_embedding": 11, "d_hidden": 13})


def _translator(model: Any, settings: Any, given: dict[str, Any]) -> Translator:
    tokenizer = TokenizerSettings(kind="bpe", vocab_size=290)
    source, target = train(GERMAN, tokenizer), train(ENGLISH, tokenizer)
    sizes = {"source_vocab": source.vocab_size, "target_vocab": target.vocab_size}
    torch.manual_seed(3)
    made = model(settings.model_validate(given | sizes)).eval()
    search = SearchSettings(method="beam", beam_size=3, max_length=7)
    device = torch.device("cpu")
    return Translator([made], source, target, device=device, precision="fp32", settings=search)


def hostile(explored: Exploration) -> Exploration:
    """Return the same page content with hostile source tokens."""
    tokens = [{"text": text, "word": word, "special": False} for word, text in enumerate(HOSTILE)]
    side = {"pieces": tokens, "words": tokens}
    return replace(explored, content={**explored.content, "source": side, "sentence": "".join(HOSTILE)})
