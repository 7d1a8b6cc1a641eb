"""A tokenizer in the format of the page's script (``scripts/tokenizer.js``), and refusals."""

import json
from collections.abc import Mapping
from typing import Any

from tokenizers import Tokenizer as Library

from multihead.text.pieces import (
    BYTES,
    STRIP,
    complete_merges,
    normalizer,
    script_pre_tokenizer,
    whitespace_pre_tokenizer,
)
from multihead.text.tokenizer import Tokenizer

NAMES = {"BPE": "bpe", "Unigram": "unigram", "WordPiece": "wordpiece", "WordLevel": "whole"}
"""Names of the kinds of vocabularies in a ``tokenizer.json`` and in the page."""
APOSTROPHE = "(?<="
"""The beginning of the pattern that replaces apostrophes between letters (``text.pieces``)."""


def not_expressible(tokenizer: Tokenizer) -> list[str]:
    """Return the reasons why the page's script would segment differently; empty if there are none."""
    content, faults = tokenizer.content, []
    kind = NAMES.get(content["model"]["type"])
    if kind is None:
        return [f"a vocabulary of kind {content['model']['type']}"]
    if kind in ("bpe", "unigram") and (
        content["model"].get("byte_fallback") is not True or not all(map(_has(content), BYTES))
    ):
        faults.append("a vocabulary without byte fallback")
    if _plain(_steps(content["normalizer"])) != _steps(_usual_normalizer(content)):
        faults.append("a normaliser that multihead does not train")
    if _plain(content["pre_tokenizer"]) not in _usual_pre_tokenizers(kind):
        faults.append("a pre-tokenizer that multihead does not train")
    if kind == "bpe" and any(content["model"].get(name) for name in ("ignore_merges", "end_of_word_suffix")):
        faults.append("settings of BPE that multihead does not train")
    if kind == "wordpiece" and content["model"]["continuing_subword_prefix"]:
        faults.append("WordPiece with marks inside words")
    if any("\0" in piece for piece in _pieces(content)):
        faults.append("pieces with NUL characters")
    return faults


def _usual_pre_tokenizers(kind: str) -> list[Any]:
    """The rules of white space and of scripts that vocabularies of this kind are trained with."""
    spaces = whitespace_pre_tokenizer()
    scripts = [script_pre_tokenizer(digits, runs=kind != "whole") for digits in (False, True)]
    usual = {"bpe": [spaces], "wordpiece": scripts}.get(kind, [spaces, *scripts])
    return [_as_json(rule, "pre_tokenizer") for rule in usual]


def to_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the data with which the page's script encodes and decodes; the tokenizer is expressible."""
    content, pieces = tokenizer.content, _pieces(tokenizer.content)
    lowercase, apostrophe = _normalisation(content)
    facts: dict[str, Any] = {
        "kind": NAMES[content["model"]["type"]],
        "lowercase": lowercase,
        "apostrophe": apostrophe,
        "pieces": pieces,
        "unknown": tokenizer.unk_id,
        "first_byte": pieces.index(BYTES[0]) if BYTES[0] in pieces else -1000,
        "silent": sorted({tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}),
        "begin": tokenizer.bos_id,
        "end": tokenizer.eos_id,
        "padding": tokenizer.pad_id,
        "symbols": sorted(tokenizer.symbols.values()),
    }
    if facts["kind"] == "wordpiece":
        facts["most"] = content["model"]["max_input_chars_per_word"]
    if facts["kind"] == "unigram":
        facts["scores"] = [score for _, score in content["model"]["vocab"]]
    if facts["kind"] != "bpe":
        facts["spaced"] = content["pre_tokenizer"]["type"] == "Metaspace"
        facts["runs"] = facts["kind"] != "whole"
        facts["split_digits"] = r"\p{N}|" in json.dumps(content["pre_tokenizer"]).replace("\\\\", "\\")
        return facts
    merges = [tuple(pair) for pair in content["model"]["merges"]]
    usual = complete_merges([piece for piece in pieces if piece not in _fix(tokenizer)])
    if merges != usual:
        numbers = content["model"]["vocab"]
        facts["merges"] = [numbers[part] for pair in merges for part in pair]
    return facts


def _usual_normalizer(content: Mapping[str, Any]) -> Any:
    return _as_json(normalizer(*_normalisation(content)), "normalizer")


def _fix(tokenizer: Tokenizer) -> set[str]:
    special = {tokenizer.piece(number) for number in tokenizer.special_ids}
    return {*special, *BYTES}


def _normalisation(content: Mapping[str, Any]) -> tuple[bool, str]:
    """True if a normaliser lower-cases, and its replacement of apostrophes ("": none)."""
    steps = _steps(content["normalizer"])
    lowercase = any(step["type"] == "Lowercase" for step in steps)
    replaced = [
        step["content"]
        for step in steps
        if step["type"] == "Replace" and str(step["pattern"].get("Regex", "")).startswith(APOSTROPHE)
    ]
    return lowercase, replaced[0] if replaced else ""


def _steps(rule: Any) -> list[dict[str, Any]]:
    """The steps of a normaliser, including those of nested sequences."""
    if not rule:
        return []
    if rule["type"] != "Sequence":
        return [rule]
    return [step for part in rule["normalizers"] for step in _steps(part)]


def _plain(part: Any) -> Any:
    """Return a rule without the changes that symbols make; plain text has the same ids."""
    text = json.dumps(part).replace('"prepend_scheme": "first"', '"prepend_scheme": "always"')
    return json.loads(text.replace(json.dumps(r" \z"), json.dumps(STRIP)))


def _as_json(part: Any, name: str) -> Any:
    library = Library.from_str('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
    setattr(library, name, part)
    return json.loads(library.to_str())[name]


def _pieces(content: Mapping[str, Any]) -> list[str]:
    vocabulary = content["model"]["vocab"]
    if not isinstance(vocabulary, dict):
        return [piece for piece, _ in vocabulary]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _has(content: Mapping[str, Any]) -> Any:
    return set(_pieces(content)).__contains__
