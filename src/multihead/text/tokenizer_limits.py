"""Limits of a ``tokenizer.json`` from an untrusted source, checked before the library sees it.

The library obeys any file: a chain of replacements that doubles a text forty times, or padding to 100 million
tokens, ends the process. Only the components below are accepted, with values that keep the length
of a text within ``MAX_GROWTH`` times its own.
"""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_BYTES = 1 << 25
"""The largest published vocabularies, of 262,000 pieces, take 33 MB."""
MAX_VALUES = 4_000_000
MAX_STEPS = 32
"""Components of a kind: normalisers, pre-tokenizers, decoders, post-processors."""
MAX_DEPTH = 4
MAX_GROWTH = 1 << 13
MAX_PIECE = 1 << 12
"""Characters of a piece; published ones have up to 256."""
MAX_AFFIX = 64
MAX_ADDED = 100_000
MAX_PATTERN = 4000
MAX_REPEAT = 1000
MAX_WORD = 10_000
"""Characters of a word that WordPiece segments, in quadratic time."""

Component = Mapping[str, Any]
Growth = Callable[[Component], int]
"""Maximum growth factor of a text by a component; raises ``ValueError`` for a bad value."""


def check(content: Any) -> None:
    """Refuse the content of a ``tokenizer.json`` that exceeds a limit.

    Raises:
        ValueError: with the reason; (or TypeError, KeyError, AttributeError: not a tokenizer at all).
    """
    for part, components in _KNOWN.items():
        _check_chain(part, content.get(part), components)
    added = content["added_tokens"]
    if len(added) > MAX_ADDED:
        raise ValueError(f"{len(added):,} added tokens, more than {MAX_ADDED:,}")
    for token in added:
        _short(token["content"], "an added token", MAX_PIECE)
    _check_model(content["model"])


def _check_model(model: Component) -> None:
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind not in ("BPE", "Unigram", "WordPiece", "WordLevel"):
        raise ValueError(f"the model {kind!r} is not supported")
    vocabulary = model["vocab"]
    pieces = (piece for piece, _ in vocabulary) if kind == "Unigram" else iter(vocabulary)
    if max(map(len, pieces), default=0) > MAX_PIECE:
        raise ValueError(f"a piece has more than {MAX_PIECE:,} characters")
    for affix in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"):
        _short(model.get(affix) or "", affix, MAX_AFFIX)
    if not 0 < model.get("max_input_chars_per_word", 1) <= MAX_WORD:
        raise ValueError(f"max_input_chars_per_word is not between 1 and {MAX_WORD:,}")


def _check_chain(part: str, chain: Component | None, known: Mapping[str, Growth]) -> None:
    steps = list(_steps(part, chain, 0))
    if len(steps) > MAX_STEPS:
        raise ValueError(f"{part}: {len(steps):,} steps, more than {MAX_STEPS}")
    growth = 1
    for step in steps:
        kind = step.get("type")
        if not isinstance(kind, str) or kind not in known:
            raise ValueError(f"{part}: {kind!r} is not supported")
        growth *= known[kind](step)
        if growth > MAX_GROWTH:
            raise ValueError(f"{part}: it may lengthen a text more than {MAX_GROWTH:,} times")


def _steps(part: str, component: Component | None, depth: int) -> list[Component]:
    """Return the components of a chain, without the sequences that nest them."""
    if component is None:
        return []
    if component.get("type") != "Sequence":
        return [component]
    if depth >= MAX_DEPTH:
        raise ValueError(f"{part}: sequences nested more than {MAX_DEPTH} deep")
    inner = component[_INNER[part]]
    if len(inner) > MAX_STEPS:
        raise ValueError(f"{part}: {len(inner):,} steps, more than {MAX_STEPS}")
    return [step for child in inner for step in _steps(part, child, depth + 1)]


def _short(text: Any, what: str, most: int) -> int:
    if not isinstance(text, str) or len(text) > most:
        raise ValueError(f"{what} is not a text of at most {most:,} characters")
    return len(text)


# --- growth -----------------------------------------------------------------------------------------


def _times(factor: int) -> Growth:
    return lambda step: factor


def _replace(step: Component) -> int:
    length = _short(step["content"], "a replacement", MAX_AFFIX)
    (kind, pattern) = next(iter(step["pattern"].items()))
    if kind == "String":
        return max(1, -(-length // max(1, _short(pattern, "a pattern", MAX_PATTERN))))
    _check_pattern(pattern)
    return 1 + length  # the pattern may match between two characters


def _split(step: Component) -> int:
    (kind, pattern) = next(iter(step["pattern"].items()))
    if kind == "String":
        _short(pattern, "a pattern", MAX_PATTERN)
    else:
        _check_pattern(pattern)
    return 1


def _text(key: str) -> Growth:
    """Growth of a component that adds a text, once or to each word."""
    return lambda step: 1 + _short(step.get(key) or "", key, MAX_AFFIX) // 8


def _charsmap(step: Component) -> int:
    """Growth of SentencePiece's normalisation rules: a trie, then texts that end with a NUL."""
    blob = base64.b64decode(step["precompiled_charsmap"] or "", validate=True)
    trie = int.from_bytes(blob[:4], "little")
    if not blob:
        return 1
    if trie % 4 or not 4 <= trie <= len(blob) - 4:
        raise ValueError("precompiled_charsmap is damaged")
    longest = max(map(len, blob[4 + trie :].split(b"\0")))
    return max(1, -(-longest // 2))  # a character that is replaced has two bytes or more, or stays short


def _cut(step: Component) -> int:
    if not all(0 <= step[key] <= MAX_AFFIX for key in ("start", "stop")):
        raise ValueError(f"start and stop are not between 0 and {MAX_AFFIX}")
    return 1


def _fix(step: Component) -> int:
    if not 0 < step.get("length", 5) <= MAX_PIECE:
        raise ValueError(f"length is not between 1 and {MAX_PIECE:,}")
    return 1


def _template(step: Component) -> int:
    parts = [
        *step["single"],
        *step["pair"],
        *(id for of in step["special_tokens"].values() for id in of["ids"]),
    ]
    if len(parts) > MAX_PIECE:
        raise ValueError(f"a template of more than {MAX_PIECE:,} tokens")
    return 1


# --- regular expressions ----------------------------------------------------------------------------

_ATOM = re.compile(
    r"\\[pPx]\{[^}]*\}|\\.|\(\?[a-zA-Z-]*[:=!>]|\(\?<[=!]|\(|\)|[+*]|\{\d*,?\d*\}|\?|[^\\]", re.DOTALL
)


def _check_pattern(pattern: Any) -> None:
    """Refuse a pattern that is long, repeats more than ``MAX_REPEAT`` times, or repeats a repetition.

    A repeated repetition, as in (a+)+, takes exponential time.
    """
    _short(pattern, "a pattern", MAX_PATTERN)
    if any(int(count) > MAX_REPEAT for count in re.findall(r"(?<=[{,])\d{1,9}", pattern)):
        raise ValueError(f"a pattern that repeats more than {MAX_REPEAT:,} times")
    groups, inside, closed = [False], 0, False
    for atom in (match[0] for match in _ATOM.finditer(pattern)):
        repeats = atom in "+*" or (atom[0] == "{" and len(atom) > 1)
        if inside:
            inside += (atom == "[") - (atom == "]")
        elif repeats and closed:
            raise ValueError("a pattern that repeats a repetition")
        elif repeats:
            groups[-1] = True
        elif atom == "[":
            inside = 1
        elif atom[0] == "(":
            groups.append(False)
        elif atom == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1] |= closed
            continue
        closed = False


_PLAIN = _times(1)
_INNER = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "decoder": "decoders",
    "post_processor": "processors",
}
_KNOWN: Mapping[str, Mapping[str, Growth]] = {
    "normalizer": {
        # The longest expansion of a character in Unicode's tables: U+FDFA has 18.
        **{"NFC": _times(3), "NFD": _times(4), "NFKC": _times(18), "NFKD": _times(18)},
        **dict.fromkeys(("Strip", "StripAccents", "Nmt"), _PLAIN),
        **{"Lowercase": _times(3), "BertNormalizer": _times(12), "ByteLevel": _times(2)},
        **{"Replace": _replace, "Prepend": _text("prepend"), "Precompiled": _charsmap},
    },
    "pre_tokenizer": {
        **dict.fromkeys(("Whitespace", "WhitespaceSplit", "Punctuation", "Digits"), _PLAIN),
        **dict.fromkeys(("BertPreTokenizer", "CharDelimiterSplit", "UnicodeScripts"), _PLAIN),
        **{"Metaspace": _text("replacement"), "ByteLevel": _times(2), "Split": _split, "FixedLength": _fix},
    },
    "decoder": {
        **dict.fromkeys(("ByteFallback", "Fuse", "ByteLevel"), _PLAIN),
        **{"Metaspace": _text("replacement"), "Replace": _replace, "Strip": _cut},
        **{"WordPiece": _text("prefix"), "BPEDecoder": _text("suffix")},
    },
    "post_processor": {
        **dict.fromkeys(("ByteLevel", "BertProcessing", "RobertaProcessing"), _PLAIN),
        "TemplateProcessing": _template,
    },
}
"""Components by their type in each part of the file."""
