"""Each hostile file is refused in less than two seconds and 300 MB, in a process that may not take more.

Every attack runs in a copy of one process, with limits of the system on its memory and its time.
"""

import base64
import gzip
import io
import json
import os
import resource
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multihead import recipe
from multihead.apps.studies.sweep import plan
from multihead.data.corpora import corpora
from multihead.data.images.opening import open_image
from multihead.data.store import BrokenStoreError, TokenStore
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.run import journal, model_file, tensors
from multihead.run.manifest import Manifest
from multihead.text.from_sentencepiece import from_sentencepiece
from multihead.text.terms import Glossary
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

SECONDS, MEGABYTES = 2.0, 300
Attack = tuple[str, bytes | Callable[[], bytes], Callable[[Path], object]]
"""Name of the file, its content, its reader."""


def header(content: object, data: bytes = b"") -> bytes:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text + data


def tokenizer(**changed: Any) -> bytes:
    """A tokenizer.json with other components."""
    content = dict(train(["ein Hund", "a dog"], TokenizerSettings(kind="chars", vocab_size=300)).content)
    model = content["model"] | changed.pop("model", {})
    return json.dumps(content | {"model": model} | changed).encode()


def chain(*steps: Any, part: str = "normalizer", inner: str = "normalizers") -> Callable[[], bytes]:
    return lambda: tokenizer(**{part: {"type": "Sequence", inner: list(steps)}})


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, object]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def split(pattern: str) -> Callable[[], bytes]:
    step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return lambda: tokenizer(pre_tokenizer=step)


def nested(depth: int) -> Callable[[], bytes]:
    step: dict[str, Any] = {"type": "NFC"}
    for _ in range(depth):
        step = {"type": "Sequence", "normalizers": [step]}
    return lambda: tokenizer(normalizer=step)


def charsmap() -> bytes:
    blob = struct.pack("<I", 1024) + bytes(1024) + b"x" * 1_000_000 + b"\0"
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}
    return tokenizer(normalizer=step)


def png(width: int, height: int, *, interlaced: bool = False) -> bytes:
    """An image of one colour, whose rows are packed a thousandfold."""

    def part(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    shape = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, int(interlaced))
    rows = zlib.compress(bytes(1 << 20), 9)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", shape) + part(b"IDAT", rows) + part(b"IEND", b"")


def sentencepiece(path: Path) -> object:
    return from_sentencepiece(path.read_bytes(), {"<unk>": 0, "</s>": 1, "<pad>": 2}, place=str(path))


def store(path: Path) -> object:
    (path.parent / "header.json").write_bytes(path.read_bytes())
    return TokenStore(path.parent)


def manifest(path: Path) -> object:
    path.rename(path.with_name("manifest.json"))
    return Manifest.load(path.parent)


def metrics(path: Path) -> object:
    if list(journal.events(path)):
        return "accepted"
    raise UserError("no event was read")


def from_corpora(path: Path) -> object:
    return corpora(DataSettings(dir=str(path.parent), corpora=path.name))


LISTS = b"[" + b"[]," * 5_000_000
DOTTED = b"a" + b".a" * 100_000 + b" = 1"
GRID = "".join(f"training.k{n} = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for n in range(9))

ATTACKS: dict[str, Attack] = {
    "a recipe with a key of 100,000 parts": ("r.toml", DOTTED, recipe.load),
    "a recipe with a quoted key of 100,000 parts": ("r.toml", b"[a" + b'."b"' * 100_000 + b"]", recipe.load),
    "a recipe with a spaced key in a table": (
        "r.toml",
        b"x = { a" + b" . a" * 9_000 + b" = 1 }",
        recipe.load,
    ),
    "a recipe of many lines": ("r.toml", b"#\n" * 500_000, recipe.load),
    "a recipe of quotes": ("r.toml", b'\'"\\"' * 250_000, recipe.load),
    "a recipe of lists in lists": ("r.toml", b"a = " + b"[" * 1_000_000, recipe.load),
    "a recipe that is large": ("r.toml", lambda: b"x" * (20 << 20), recipe.load),
    "a recipe whose last line is wrong": (
        "r.toml",
        b"#" * 49 + (b"\n#" + b"x" * 47) * 500 + b"\n[training]\nstepss = 3\n",
        recipe.load,
    ),
    "corpora with a key of 100,000 parts": ("c.toml", DOTTED, from_corpora),
    "a sweep with a key of 100,000 parts": ("s.toml", DOTTED, lambda path: plan.read_sweep(str(path))),
    "a sweep of 387 million members": (
        "s.toml",
        f'recipe = "quickstart"\n[grid]\n{GRID}'.encode(),
        lambda path: plan.read_sweep(str(path)),
    ),
    "a model.json of lists": ("model.json", LISTS, model_file.read),
    "a model.json in depth": ("model.json", b'{"a":' * 2_000_000, model_file.read),
    "a model.json with a huge number": (
        "model.json",
        b'{"format": 1' + b"0" * 1_000_000 + b"}",
        model_file.read,
    ),
    "a manifest of lists": ("m.json", LISTS, manifest),
    "metrics of lists": ("metrics.jsonl", LISTS + b"\n", metrics),
    "metrics in depth": ("metrics.jsonl", b"[" * 900_000 + b"\n", metrics),
    "metrics of 100,000 damaged lines": ("metrics.jsonl", b"{\n" * 100_000, metrics),
    "metrics that are too large": ("metrics.jsonl", lambda: b"\n" * (65 << 20), metrics),
    "a tokenizer that doubles a text 30 times": (
        "tokenizer.json",
        chain(*[replace("a", "aa")] * 30, replace("\U0010fffd", "a")),
        Tokenizer.load,
    ),
    "a tokenizer that inserts a text everywhere": (
        "tokenizer.json",
        chain(*[replace("x*", "a" * 60, "Regex")] * 5),
        Tokenizer.load,
    ),
    "a tokenizer whose replacement has 20 MB": (
        "tokenizer.json",
        lambda: tokenizer(normalizer=replace("a", "b" * 20_000_000)),
        Tokenizer.load,
    ),
    "a tokenizer that pads to 100 million, of no normaliser that is known": (
        "tokenizer.json",
        lambda: tokenizer(
            padding={
                **{"strategy": {"Fixed": 100_000_000}, "direction": "Right", "pad_to_multiple_of": None},
                **{"pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"},
            },
            normalizer={"type": "Bomb"},
        ),
        Tokenizer.load,
    ),
    "a tokenizer of 40 byte-level steps": (
        "tokenizer.json",
        chain(*[{"type": "ByteLevel"}] * 30),
        Tokenizer.load,
    ),
    "a tokenizer of nested sequences": ("tokenizer.json", nested(90), Tokenizer.load),
    "a tokenizer with exploding rules": ("tokenizer.json", charsmap, Tokenizer.load),
    "a tokenizer with an exponential pattern": ("tokenizer.json", split("(a+)+$"), Tokenizer.load),
    "a tokenizer with a pattern of 10^9 repetitions": (
        "tokenizer.json",
        split("(?:(?:a{1000}){1000}){1000}"),
        Tokenizer.load,
    ),
    "a tokenizer with a piece of 20 MB": (
        "tokenizer.json",
        lambda: tokenizer(model={"vocab": {"a" * 20_000_000: 0}}),
        Tokenizer.load,
    ),
    "a WordPiece vocabulary for words of 10^9 letters": (
        "tokenizer.json",
        lambda: tokenizer(
            model={"type": "WordPiece", "max_input_chars_per_word": 10**9, "continuing_subword_prefix": ""}
        ),
        Tokenizer.load,
    ),
    "a tokenizer of lists": ("tokenizer.json", LISTS, Tokenizer.load),
    "a tokenizer that is too large": ("tokenizer.json", lambda: b" " * (34 << 20), Tokenizer.load),
    "weights with a header of 90 MB": (
        "m.safetensors",
        lambda: header(b" " * (90 << 20)),
        tensors.load,
    ),
    "weights with 50,000 tensors": (
        "m.safetensors",
        lambda: header(
            {f"{n}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for n in range(50_000)}
        ),
        tensors.load,
    ),
    "weights with a million axes": (
        "m.safetensors",
        lambda: header({"a": {"dtype": "U8", "shape": [1] * 300_000, "data_offsets": [0, 1]}}, b"a"),
        tensors.load,
    ),
    "weights with metadata in depth": (
        "m.safetensors",
        lambda: header({"__metadata__": {"multihead": "[" * 3_000_000}}),
        tensors.load,
    ),
    "weights that lie behind the file's end": (
        "m.safetensors",
        lambda: header({"a": {"dtype": "U8", "shape": [10**12], "data_offsets": [0, 10**12]}}),
        tensors.load,
    ),
    "a SentencePiece model of empty fields": ("a.spm", b"\x0a\x00" * 4_000_000, sentencepiece),
    "a SentencePiece model of one piece with many fields": (
        "a.spm",
        b"\x0a\x80\x80\x80\x03" + b"\x18\x01" * (3 << 20),
        sentencepiece,
    ),
    "a token store with a header of lists": ("h.json", LISTS, store),
    "a glossary of one line of 70 MB": ("g.tsv", lambda: gzip.compress(b"a" * (70 << 20)), Glossary.load),
    "a glossary with a term of a million letters": ("g.tsv", b"a" * 1_000_000 + b"\tb\n", Glossary.load),
    "an image of 3.6 thousand million pixels": ("a.png", lambda: png(60_000, 60_000), open_image),
    "an image of one row": ("a.png", lambda: png(2**31 - 1, 1), open_image),
    "an image that ends early": ("a.png", lambda: png(5_000, 5_000, interlaced=True), open_image),
}


def memory() -> int:
    """Return the bytes of private memory that this process may write to."""
    lines = Path("/proc/self/status").read_text().split("\n")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmData")) * 1024


def refusal(attack: Attack, folder: Path) -> str:
    name, content, read = attack
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content())
    pipe, end = os.pipe()
    if not (child := os.fork()):
        most = memory() + (MEGABYTES << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        began = time.process_time()
        try:
            found = f"accepted {read(path)!r:.60}"
        except (UserError, BrokenStoreError) as error:
            found = "" if len(str(error)) < 1000 else f"a message of {len(str(error)):,} characters"
        except BaseException as error:
            found = f"{type(error).__name__}: {error!s:.200}"
        if not found and (seconds := time.process_time() - began) > SECONDS:
            found = f"{seconds:.2f} s"
        os.write(end, found.encode() or b"refused")
        os._exit(0)
    os.close(end)
    _, status = os.waitpid(child, 0)
    with io.FileIO(pipe) as file:
        found = file.readall().decode()
    return found or f"the process ended with status {status}"


def main(folder: Path) -> None:
    for number, (name, attack) in enumerate(ATTACKS.items()):
        place = folder / str(number)
        place.mkdir()
        print(json.dumps([name, refusal(attack, place)]), flush=True)


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_each_hostile_file_is_refused_in_two_seconds_and_300_mb(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "RUST_BACKTRACE": "0"}
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path)], env=environment, capture_output=True, text=True, check=True
    )
    found = dict(map(json.loads, done.stdout.split("\n")[:-1]))
    assert found == dict.fromkeys(ATTACKS, "refused")


def test_a_bound_is_not_met_by_chance(tmp_path: Path) -> None:
    """The limits of the test work: memory, time, acceptance and an error of another type are seen."""

    def wait(path: Path) -> None:
        while True:
            pass

    for attack, seen in (
        (lambda path: bytearray(400 << 20), "MemoryError"),
        (lambda path: path.read_bytes(), "accepted"),
        (lambda path: 1 / 0, "ZeroDivisionError"),
    ):
        assert refusal(("a", b"a", attack), tmp_path).startswith(seen)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
