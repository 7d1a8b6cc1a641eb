"""Damage of every kind to every file of a run folder is noticed where the file is read, and by ``verify``.

A new kind of file joins by one line in ``KINDS``, a new kind of fault by one in ``FAULTS``.
"""

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from multihead.errors import UserError
from multihead.models.transformer import Settings as TransformerSettings
from multihead.models.transformer import Transformer
from multihead.recipe import Recipe, with_vocabularies
from multihead.recipe.settings import Settings, TokenizerSettings
from multihead.run import Run
from multihead.run.verify import WHOLE, verify
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train


class Kind(NamedTuple):
    """A file of a run folder, and how it is read."""

    file: str
    read: Callable[[Run], object]


def read_metrics(run: Run) -> None:
    run.truncate_after(10**9)  # as a training does when it is resumed
    assert all(event in [*events(2), *events(3)] for event in run.metrics())


KINDS = (
    Kind("recipe.toml", lambda run: run.recipe),
    Kind("environment.json", lambda run: run.environment),
    Kind("model.json", lambda run: Run.open(run.folder)),
    Kind("tokenizer.json", lambda run: run.tokenizers()),
    Kind("manifest.json", lambda run: (Run.open(run.folder), run.recipe)),
    Kind("model.safetensors", lambda run: run.load_model()),
    Kind("checkpoints/best.safetensors", lambda run: run.load_tensors("best")),
    Kind("checkpoints/weights-0000000005.safetensors", lambda run: run.load_tensors("weights-0000000005")),
    Kind("checkpoints/state-0000000007.safetensors", lambda run: run.load_state()),
    Kind("metrics.jsonl", read_metrics),
)
KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)
FLIPS = 23


def events(seed: int) -> list[dict[str, object]]:
    logged: list[dict[str, object]] = []
    for step in range(1, 8):
        logged.append({"event": "update", "step": step, "loss": 7.25 / step + seed})
        logged += [{"event": "validation", "step": step}] if step in (5, 7) else []
    return [*logged, {"event": "end", "step": 7, "weights": "best", "metrics": {"loss": 1.5}}]


def flip(path: Path, chance: random.Random, other: Path) -> None:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def overwrite_a_block(path: Path, chance: random.Random, other: Path) -> None:
    """As file systems do after a power cut: zeros in place of a block."""
    content = path.read_bytes()
    start = chance.randrange(len(content))
    path.write_bytes(content[:start] + bytes(len(content[start : start + 512])) + content[start + 512 :])


def cut(path: Path, chance: random.Random, other: Path) -> None:
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def empty(path: Path, chance: random.Random, other: Path) -> None:
    path.write_bytes(b"")


def lengthen(path: Path, chance: random.Random, other: Path) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(chance.randint(1, 99)))


def remove(path: Path, chance: random.Random, other: Path) -> None:
    path.unlink()


def swap(path: Path, chance: random.Random, other: Path) -> None:
    """Put another run's file in its place, whole and of the same sizes."""
    shutil.copyfile(other, path)


def put_a_folder(path: Path, chance: random.Random, other: Path) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


FAULTS = (overwrite_a_block, cut, empty, lengthen, remove, swap, put_a_folder)
UNREPORTED = {
    ("metrics.jsonl", swap),  # nothing is computed from it
    ("checkpoints/state-0000000007.safetensors", remove),  # the state before it is resumed from
}
UNNOTICED = {
    *UNREPORTED,
    ("metrics.jsonl", remove),
    ("metrics.jsonl", empty),
}  # which results do not depend on
"""Known limits of ``verify`` and of the readers, see docs/explanation/reliability.md."""


def made(folder: Path, recipe: Recipe[Settings], tokenizer: Tokenizer, seed: int) -> Path:
    """A run folder with a file of every kind, as a training leaves it."""
    settings = recipe.training.model_copy(update={"seed": seed})
    recipe = with_vocabularies(replace(recipe, training=settings), tokenizer.vocab_size, tokenizer.vocab_size)
    torch.manual_seed(seed)
    assert isinstance(recipe.model, TransformerSettings)
    weights = Transformer(recipe.model).state_dict()
    with Run.create(folder, recipe, (tokenizer, tokenizer), {"data": {"fingerprint": str(seed)}}) as run:
        for step in (5, 7):
            state = {f"model.{name}": weight for name, weight in weights.items()}
            run.save_tensors("best", weights, {"step": step})
            run.save_tensors(f"weights-{step:010}", weights, {"step": step})
            run.save_state(step, state, {"step": step, "best": 0.5, "scheduled": [5, 7]})
        run.save_model(weights, {"step": 7})
        for event in events(seed):
            run.log(event)
        run.add_samples(7, "a sample")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, recipe: Recipe[Settings]) -> tuple[Path, Path]:
    """Two runs of the same sizes: other seed, other data, other vocabulary."""
    texts = ("ein Hund und eine Katze sehen", "eine Maus und ein Haus stehen")
    one, other = (train([text], TokenizerSettings(kind="words", vocab_size=31)) for text in texts)
    assert one.vocab_size == other.vocab_size
    folder = tmp_path_factory.mktemp("runs")
    return made(folder / "one", recipe, one, 2), made(folder / "other", recipe, other, 3)


@pytest.fixture
def damaged(runs: tuple[Path, Path], tmp_path: Path) -> Callable[..., Path]:
    """Copies the run, and damages a file of the copy."""
    folder = tmp_path / "run"
    shutil.copytree(runs[0], folder)

    def damage(kind: Kind, fault: Callable[[Path, random.Random, Path], None], seed: object = 0) -> Path:
        path, whole = folder / kind.file, runs[0] / kind.file
        shutil.copyfile(whole, path)
        fault(path, random.Random(f"{kind.file} {seed}"), runs[1] / kind.file)
        assert not path.is_file() or path.read_bytes() != whole.read_bytes()
        return folder

    return damage


def noticed(kind: Kind, folder: Path, caplog: pytest.LogCaptureFixture) -> str:
    """Return what is said when the file is read, "" if nothing is."""
    caplog.clear()
    try:
        kind.read(Run(folder))
    except UserError as error:
        return str(error)
    return "\n".join(caplog.messages)


def reported(kind: Kind, folder: Path) -> bool:
    """Return whether ``verify`` reports the file, or notes that its last line was cut off.

    Of another run's manifest it is the other files that do not belong to it.
    """
    rows = [row for row in verify(folder) if row.damaged or row.fact]
    return bool(rows) if kind.file == "manifest.json" else kind.file in [row.file for row in rows]


def test_a_whole_run_is_read_and_verified_in_silence(
    runs: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    for folder in runs:
        assert [noticed(kind, folder, caplog) for kind in KINDS] == [""] * len(KINDS)
        rows = verify(folder)
        assert {row.file for row in rows if row.state == WHOLE} >= {kind.file for kind in KINDS}
        assert [row.file for row in rows if row.state != WHOLE] == ["samples.txt"]


@KIND
def test_each_flipped_bit_is_noticed(
    kind: Kind, damaged: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    for seed in range(FLIPS):
        folder = damaged(kind, flip, seed)
        assert reported(kind, folder), seed
        assert noticed(kind, folder, caplog), seed


@KIND
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_noticed(
    kind: Kind,
    fault: Callable[[Path, random.Random, Path], None],
    damaged: Callable[..., Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = damaged(kind, fault)
    assert reported(kind, folder) == ((kind.file, fault) not in UNREPORTED)
    assert bool(noticed(kind, folder, caplog)) == ((kind.file, fault) not in UNNOTICED)
