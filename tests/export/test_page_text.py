"""Text on an exported page: ids, sentences and unknown words against those of Python, run by node."""

from pathlib import Path

import numpy as np
import pytest
import torch
from live_pages import in_node, lines, page_parts, reversing, vocabulary
from live_texts import HARD, unicode_lines

from multihead.apps.export.page.reference import LEVEL
from multihead.system import native
from multihead.tasks.translation.lines import Translator

needs_native = pytest.mark.skipif(
    LEVEL not in native.LEVELS, reason="the native kernels are not compiled here"
)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"apostrophe": "'"},
        {"kind": "chars"},
        {"kind": "unigram", "vocab_size": 331},
        {"kind": "unigram", "vocab_size": 331, "split_digits": True},
        {"symbols": ["standard"], "vocab_size": 401},
        {"kind": "wordpiece", "vocab_size": 97},
        {"kind": "words", "vocab_size": 17},
        {"kind": "words", "vocab_size": 17, "split_digits": True, "apostrophe": "'"},
        {"kind": "spaced", "vocab_size": 11},
        {"kind": "spaced", "symbols": ["standard"], "vocab_size": 101},
    ],
    ids=[
        "bpe",
        "apostrophe",
        "chars",
        "unigram",
        "digits",
        "symbols",
        "wordpiece",
        "words",
        "words, digits",
        "spaced",
        "spaced, symbols",
    ],
)
def test_the_page_segments_text_as_python_does(settings: dict[str, object], tmp_path: Path) -> None:
    tokenizer = vocabulary(**settings)
    texts = [*HARD, *lines(97, seed=3), *unicode_lines(503)]
    made = page_parts(reversing(tokenizer, steps=0), tokenizer)
    rows = [tokenizer.encode(text) for text in texts]
    chance = np.random.default_rng(5)
    random = [chance.integers(0, tokenizer.vocab_size, 9).tolist() for _ in range(101)]
    random = [[id for id in row if id not in tokenizer.symbols.values()] for row in random]
    encoded, decoded, at_random = in_node(
        made,
        tmp_path,
        [
            {"kind": "encode", "texts": texts},
            {"kind": "decode", "rows": rows},
            {"kind": "decode", "rows": random},
        ],
    )
    different = [text for text, ids, row in zip(texts, encoded, rows, strict=True) if ids != row]
    assert different == []
    assert decoded == tokenizer.decode_batch(rows)
    assert at_random == tokenizer.decode_batch(random)


def test_a_lower_casing_vocabulary_is_read_alike(tmp_path: Path) -> None:
    tokenizer = vocabulary().with_lowercasing()
    texts = [*HARD, "EIN HUND", "ΟΔΟΣ", "Straße İ I ı"]
    made = page_parts(reversing(tokenizer, steps=0), tokenizer)
    (encoded,) = in_node(made, tmp_path, [{"kind": "encode", "texts": texts}])
    assert encoded == tokenizer.encode_batch(texts)


def test_a_text_is_cut_into_sentences_and_long_ones_between_words(tmp_path: Path) -> None:
    tokenizer = vocabulary()
    made = page_parts(reversing(tokenizer, steps=0), tokenizer)
    texts = [
        "Ein Hund läuft. Zwei Katzen!  Drei?\n\n  vier \n",
        "ein Hund " * 1111,
        "x" * 1999,
        "",
        " \n\t\n",
    ]
    request = {"kind": "segments", "texts": texts, "language": "de", "most": 50}
    ((first, words, letters, empty, blank),) = in_node(made, tmp_path, [request])
    cut = [
        [text[part["start"] : part["end"]] for part in parts]
        for text, parts in zip(texts[:3], (first, words, letters), strict=True)
    ]
    assert cut[0] == ["Ein Hund läuft.", "Zwei Katzen!", "Drei?", "vier"]
    assert " ".join(cut[1]) == texts[1].strip()
    assert "".join(cut[2]) == texts[2]
    assert all(len(tokenizer.encode(part)) <= 50 for parts in cut[:2] for part in parts)
    assert empty == blank == []


@needs_native
@pytest.mark.parametrize("kind", ["words", "spaced"])
def test_unknown_words_are_replaced_as_python_does(kind: str, tmp_path: Path) -> None:
    tokenizer = vocabulary(kind=kind, vocab_size=11)
    model = reversing(tokenizer)
    translator = Translator([model], tokenizer, tokenizer, device=torch.device("cpu"), precision="fp32")
    texts = ["ein Qux läuft (7) über Foo-Bar", "Abc  Hund,  Xyz", "Qux", *lines(23, seed=7)]
    chance = np.random.default_rng(3)
    written = [[*chance.integers(4, 11, 7).tolist(), tokenizer.unk_id] for _ in texts]
    expected = translator.replacements(list(zip(texts, written, strict=True)))
    made = page_parts(model, tokenizer, exact=True)
    requests = [
        {"kind": "unknown", "text": text, "ids": ids} for text, ids in zip(texts, written, strict=True)
    ]
    assert in_node(made, tmp_path, requests) == expected
    assert len({word for words in expected for word in words}) > 5
