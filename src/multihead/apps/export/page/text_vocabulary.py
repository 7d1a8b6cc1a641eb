"""A language model's tokenizer in the format of the page's script (``scripts/text_tokenizer.js``)."""

from typing import Any

from multihead.text.tokenizer import Tokenizer

CHARACTERS = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
"""The pre-tokenizer of characters (``text.lossless``)."""


def not_expressible(tokenizer: Tokenizer) -> list[str]:
    """Return the reasons why the page's script would segment differently; empty if there are none."""
    content = tokenizer.content
    if content["normalizer"]:
        return ["a normaliser, which running text does not have"]
    if _kind(tokenizer) is None:
        return [f"a vocabulary of kind {content['model']['type']}, not characters or byte-level BPE"]
    if any(content["model"].get(name) for name in ("ignore_merges", "byte_fallback", "end_of_word_suffix")):
        return ["settings of BPE that multihead does not train"]
    return []


def to_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the data with which the page's script encodes and decodes; the tokenizer is expressible."""
    model = tokenizer.content["model"]
    content: dict[str, Any] = {
        "kind": _kind(tokenizer),
        "pieces": [tokenizer.piece(number) for number in range(tokenizer.vocab_size)],
        "unknown": tokenizer.unk_id,
        "silent": sorted({tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}),
        "symbols": [],
        "first_byte": -1000,
    }
    if content["kind"] == "bytes":
        pairs = [tuple(pair) for pair in model["merges"]]
        content["merges"] = [model["vocab"][part] for pair in pairs for part in pair]
    return content


def _kind(tokenizer: Tokenizer) -> str | None:
    content = tokenizer.content
    rule = content["pre_tokenizer"] or {}
    if content["model"]["type"] == "WordLevel" and rule == CHARACTERS:
        return "letters"
    plain = rule.get("type") == "ByteLevel" and not rule["add_prefix_space"] and rule.get("use_regex", True)
    return "bytes" if content["model"]["type"] == "BPE" and plain else None
