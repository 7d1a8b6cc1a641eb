"""Bounded fuzzing of every reader of untrusted files: a UserError in one line, or an answer; nothing else.

Files are mutated from valid ones, and made from the pieces that parsers trip over. Findings are kept as
examples.
"""

import json
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from multihead import recipe
from multihead.apps.studies.sweep import plan
from multihead.data.corpora import corpora
from multihead.data.images.opening import open_image
from multihead.data.store import BrokenStoreError, StoreWriter, TokenStore
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.run import journal, model_file, tensors
from multihead.run.manifest import Manifest, ManifestEntry
from multihead.text.from_sentencepiece import from_sentencepiece
from multihead.text.terms import Glossary
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

EXAMPLES = int(os.environ.get("MULTIHEAD_FUZZ", "50"))
"""Files tried with each reader; MULTIHEAD_FUZZ=5000 searches longer."""
FIXTURE = Path(__file__).parents[1] / "fixtures" / "run-0.1.0"
IDS = {"<unk>": 0, "</s>": 1, "<pad>": 2, "▁a": 3}


def spm() -> bytes:
    def message(field: int, content: bytes) -> bytes:
        return bytes([field << 3 | 2, len(content)]) + content

    def piece(text: str, kind: int) -> bytes:
        return message(1, message(1, text.encode()) + b"\x15" + struct.pack("<f", -1.0) + bytes([0x18, kind]))

    pieces = piece("<unk>", 2) + piece("</s>", 3) + piece("▁a", 1)
    return pieces + message(2, b"\x18\x01") + message(3, message(1, b"identity"))


def store(folder: Path) -> bytes:
    with StoreWriter(folder, (31, 37)) as writer:
        writer.add([5, 7], [3], 1)
    return (folder / "header.json").read_bytes()


def image(folder: Path) -> bytes:
    Image.new("RGB", (7, 5), "red").save(folder / "valid.png")
    return (folder / "valid.png").read_bytes()


def manifest(folder: Path) -> bytes:
    Manifest(("a",), {"recipe.toml": ManifestEntry.of(b"x")}).save(folder)
    return (folder / "manifest.json").read_bytes()


VOCABULARY = train(["ein Hund und eine Katze"], TokenizerSettings(kind="chars", vocab_size=300))
CORPORA = (
    b'[[corpus]]\nsource_language = "de"\ntarget_language = "en"\n'
    b'source = ["a"]\ntarget = ["b"]\nweight = 1.5\n'
)
SWEEP = (
    b'recipe = "quickstart"\n[set]\ntraining.steps = 3\n'
    b'[[members]]\nname = "a"\n[grid]\ntraining.seed = [1, 2]\n'
)
READERS: Mapping[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "recipe.toml": (lambda _: (FIXTURE / "recipe.toml").read_bytes(), recipe.load),
    "corpora.toml": (
        lambda _: CORPORA,
        lambda path: corpora(DataSettings(dir=str(path.parent), corpora=path.name)),
    ),
    "sweep.toml": (lambda _: SWEEP, lambda path: plan.read_sweep(str(path))),
    "model.json": (lambda _: (FIXTURE / "model.json").read_bytes(), model_file.read),
    "manifest.json": (manifest, lambda path: Manifest.load(path.parent)),
    "metrics.jsonl": (
        lambda _: (FIXTURE / "metrics.jsonl").read_bytes()[:2000],
        lambda path: list(journal.events(path)),
    ),
    "tokenizer.json": (lambda _: VOCABULARY.to_json().encode(), Tokenizer.load),
    "weights.safetensors": (lambda _: (FIXTURE / "model.safetensors").read_bytes()[:9000], tensors.load),
    "source.spm": (lambda _: spm(), lambda path: from_sentencepiece(path.read_bytes(), IDS, place="a.spm")),
    "header.json": (store, lambda path: TokenStore(path.parent)),
    "terms.tsv": (lambda _: "Maus\tmouse\n# a\nHaus\thouse\tHäuser\tany\tnoun\n".encode(), Glossary.load),
    "a.png": (image, open_image),
}
ODD = st.sampled_from(
    [
        *(b"{", b"[", b'"', b"\\", b"\0", b"\n", b"=", b".", b"'", b'"""', b"null", b"-1", b"1e999", b"NaN"),
        *(b"\xff", b"\xed\xa0\x80", b"\\ud800", "\ufeff".encode(), b"9" * 5000, b"[" * 3000, b"a." * 40),
        *(b"true", b"{}", b"[]", b'""', b"0x", b"1979-05-27", b"2e308", b"\x80" * 10, b"\x7f" * 9),
    ]
)
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.one_of(ODD, st.binary(max_size=9))), max_size=4
)


def refusal(read: Callable[[], object]) -> str:
    """Return the message of a refusal, "" for an answer; any other exception passes."""
    try:
        read()
    except (UserError, BrokenStoreError) as error:
        return str(error)
    return ""


def edited(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Replace a few bytes at places of the content, given as parts of its length, by others."""
    for place, count, new in edits:
        start = int(place * len(content))
        content = content[:start] + new + content[start + count :]
    return content


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, bytes]]:
    """A file of each kind that its reader accepts."""
    found = {}
    for name, (make, read) in READERS.items():
        folder = tmp_path_factory.mktemp(name)
        content = make(folder)
        (folder / name).write_bytes(content)
        if name != "weights.safetensors":
            read(folder / name)
        found[name] = folder / name, content
    return found


@pytest.mark.parametrize("name", READERS)
def test_a_reader_answers_or_refuses_in_one_line(
    name: str, valid: dict[str, tuple[Path, bytes]], capfd: pytest.CaptureFixture[str]
) -> None:
    path, content = valid[name]

    @settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @example([])
    @example([(0.0, 1 << 30, b"")])
    @given(EDITS)
    def fuzz(edits: list[tuple[float, int, bytes]]) -> None:
        path.write_bytes(edited(content, edits))
        assert "\n" not in refusal(lambda: READERS[name][1](path))

    fuzz()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=2 * EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_tokenizer_with_any_value_in_any_place_is_read_or_refused(data: Any) -> None:
    content = json.loads(VOCABULARY.to_json())
    place: Any = content
    for _ in range(data.draw(st.integers(0, 4))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        inner = [key for key in keys if isinstance(place[key], dict | list) and place[key]]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner[:5]))]
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    place[data.draw(st.sampled_from(keys[:30]))] = data.draw(JSON)
    text = json.dumps(content)
    assert "\n" not in refusal(lambda: Tokenizer.from_json(text).encode("ein Hund"))


@settings(max_examples=EXAMPLES)
@given(st.dictionaries(st.sampled_from(["a", "b", "__metadata__"]), JSON, max_size=3))
def test_weights_with_any_header_are_read_or_refused(tmp_path_factory: Any, header: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    assert "\n" not in refusal(lambda: tensors.load(path))
