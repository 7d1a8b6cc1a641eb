"""Reading of sealed safetensors files, as tensors or as NumPy arrays; ``run.tensors`` writes them.

The layout of the header is described there.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from multihead.errors import UserError
from multihead.run import embedded_checksum as seal
from multihead.run import tensor_header
from multihead.run.origin import Origin
from multihead.system import disk
from multihead.system.imports import is_installed
from multihead.system.safe_parsing import parse_json

Framework = Literal["pt", "numpy"]
"""Class of the tensors that are read: PyTorch's, or NumPy's arrays."""

KEY = "multihead"
FORMAT = 2
UNSEALED = {"tied", "meta"}
"""Keys of a file of version 0.1.0."""
SEALED = UNSEALED | {"format", "seal", "run", "tokenizers"}

AGAIN = "Copy it again from where it is whole."


@dataclass(frozen=True)
class SealedTensors:
    """Content of a file of tensors.

    Attributes:
        tensors: by name.
        meta: whatever was saved with them.
        seal: the file's own SHA-256, "" if it has none.
        origin: the training that it comes from; empty if the file names none.
        ours: whether multihead has written it.
    """

    tensors: dict[str, Any]
    meta: dict[str, Any]
    seal: str = ""
    origin: Origin = field(default_factory=Origin)
    ours: bool = False

    def check(self, run: Origin, path: Path, *, sealed: bool) -> None:
        """Refuse a file that is not a checkpoint of a run.

        Args:
            run: the origin of all its checkpoints.
            path: the file.
            sealed: whether each of them has a seal.

        Raises:
            UserError: it comes from another run, or from another program; it has no seal.
        """
        whole = "Copy the run folder again as a whole."
        if not self.ours:
            raise UserError("not written by multihead", place=str(path), remedy=whole)
        if self.seal and self.origin != run:
            fact = "belongs to another run (other settings, data or vocabulary)"
            raise UserError(
                fact, place=str(path), remedy=f"{whole} --init begins a run with another's weights."
            )
        if sealed and not self.seal:
            remedy = f"{whole} If you trust the file, `multihead verify RUN --write` adds one."
            raise UserError("has no checksum, which this run's files have", place=str(path), remedy=remedy)


@contextmanager
def reading(path: Path, framework: Framework, device: str = "cpu") -> Iterator[SealedTensors]:
    """Yield a file's content while other threads verify its checksum.

    A file of 250 MB takes a tenth of a second to hash: the block builds the model meanwhile. What the block
    does counts only when it has ended without an exception.

    Raises:
        UserError: no such file; it is cut off, altered, or not a file of tensors. If the seal is broken,
            this is raised in place of whatever the block raises.
        ModuleNotFoundError: it holds bfloat16, which NumPy lacks, and PyTorch is not installed.
    """
    with ExitStack() as stack:
        content, check = _open(path, framework, device, stack)
        try:
            yield content
        except Exception:
            check()
            raise
        check()


def _open(
    path: Path, framework: Framework, device: str, stack: ExitStack
) -> tuple[SealedTensors, Callable[[], None]]:
    """Read a file and begin to hash it; return the function that waits for the result and compares it."""
    try:
        disk.regular_size(path)  # a pipe would be waited for
        tensor_header.check(path)
        file = stack.enter_context(path.open("rb"))
        with safe_open(path, framework=framework, device=device) as opened:
            content = _content(opened)
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != ((now := path.stat()).st_dev, now.st_ino):
            return _open(path, framework, device, stack)  # it was replaced between the two openings
        identity = seal.file_identity(status)
        if not content.seal or seal.CHECKED.holds(identity, content.seal):
            return content, lambda: None
        digest = stack.enter_context(seal.hashing(file, content.seal))
    except FileNotFoundError:
        raise UserError("no such file", place=str(path)) from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damage_error(path, f"damaged, or not a safetensors file ({error})") from None

    def check() -> None:
        try:
            hashed = digest()
        except OSError as error:
            raise _damage_error(path, f"damaged ({error})") from None
        if hashed != content.seal:
            raise _damage_error(
                path, "damaged (its SHA-256 is not the one that it was written with)"
            ) from None
        seal.CHECKED.add(identity, content.seal)

    return content, check


def _damage_error(path: Path, fact: str) -> UserError:
    return UserError(fact, place=str(path), remedy=AGAIN)


def _content(file: Any) -> SealedTensors:
    metadata: Mapping[str, str] | None = file.metadata()
    try:
        tensors: dict[str, Any] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except TypeError as error:
        if "bfloat16" not in str(error) or is_installed("torch"):
            raise
        # The file is whole, but NumPy has no such numbers.
        raise ModuleNotFoundError(f"No module named 'torch' ({error})", name="torch") from error
    if not metadata or KEY not in metadata:
        return SealedTensors(tensors, {})
    described = parse_json(metadata[KEY])
    tied, meta = described["tied"], described["meta"]
    if not isinstance(tied, dict) or not isinstance(meta, dict):
        raise TypeError(f"{KEY} in its header is not as it should be")
    tensors.update({name: tensors[same] for name, same in tied.items()})
    if described.keys() == UNSEALED:
        return SealedTensors(tensors, meta, ours=True)
    if not isinstance(described["format"], int) or described["format"] > FORMAT:
        raise ValueError(f"layout {described['format']!r} of a newer multihead")
    if described.keys() != SEALED or not isinstance(described["seal"], str) or not described["seal"]:
        raise ValueError(f"{KEY} in its header is not as it should be")
    origin = Origin(described["run"], tuple(described["tokenizers"]))
    return SealedTensors(tensors, meta, described["seal"], origin, ours=True)
