"""The toolkits compared by training.py: a script, an environment and settings for each.

- multihead: int8 or bf16 products with the native kernels, whichever is faster here, and bf16 without them (a
  machine without a compiler). It makes the C library keep freed memory, as ``multihead train`` does.
- Hugging Face: ``MarianMTModel`` from scratch in a plain loop (no ``Trainer``), fused AdamW, fp32 weights, in
  fp32 or under bf16 autocast; masks made beforehand; its "eager" attention, faster than "sdpa" at these
  lengths; on a GPU "sdpa".
- Eole: its own model, loss, optimiser and ``Trainer``, batch by batch, in fp32 or in bf16 as its settings
  have it (autocast). Its layers are pre-norm, so it has two norms, 4 d_model parameters, more.
- JoeyNMT: its own model, loss, optimiser and clipping, in fp32 or under our bf16 autocast, which its settings
  do not offer on a CPU.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

ENVIRONMENTS = Path(__file__).parent / ".envs"
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str((1 << 31) - 1)}
"""The settings of ``hardware.keep_memory``, as environment variables of the GNU C library."""
KEPT = ", memory kept"
"""Ends the name of a peer that runs with them."""


@dataclass(frozen=True)
class Contestant:
    """A toolkit in training.

    Attributes:
        home: its environment under ``.envs``; "": the one that training.py runs in.
        recurrent: whether it has the LSTM too.
        variables: added to its process's environment.
    """

    name: str
    script: str
    package: str
    settings: dict[str, object]
    home: str = ""
    recurrent: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return ENVIRONMENTS / self.home / "bin" / "python" if self.home else Path(sys.executable)

    @property
    def present(self) -> bool:
        """True where it is installed there."""
        if not self.home:
            return find_spec(self.package) is not None
        return any((ENVIRONMENTS / self.home).glob(f"lib/python*/site-packages/{self.package}/__init__.py"))

    @property
    def memory_kept(self) -> "Contestant":
        """The same toolkit with the allocator's setting that multihead makes for itself."""
        return replace(self, name=self.name + KEPT, variables=KEEP_MEMORY)


OURS = ("training_ours.py", "multihead")
HUGGING_FACE = ("training_huggingface.py", "transformers")


def _hugging_face(precision: str, attention: str = "eager") -> Contestant:
    settings: dict[str, object] = {"precision": precision, "multiple": 8, "attention": attention}
    return Contestant(f"Hugging Face {precision}", *HUGGING_FACE, settings)


def _eole(precision: str) -> Contestant:
    settings: dict[str, object] = {"precision": precision, "multiple": 8, "optimizer": "adam"}
    return Contestant(f"Eole {precision}", "training_eole.py", "eole", settings, home="eole")


def _joeynmt(precision: str) -> Contestant:
    settings: dict[str, object] = {"precision": precision, "multiple": 8}
    home = "joeynmt"
    return Contestant(f"JoeyNMT {precision}", "training_joeynmt.py", home, settings, home, recurrent=True)


def on_cpu(precisions: tuple[str, ...]) -> list[Contestant]:
    """Return multihead and its peers in these precisions, each peer as it comes and with its memory kept."""
    native: dict[str, object] = {"precision": "auto", "native": True, "multiple": 1}
    plain: dict[str, object] = {"precision": "auto", "native": False, "multiple": 4}
    ours = [
        Contestant("multihead", *OURS, native, recurrent=True),
        Contestant("without native kernels", *OURS, plain, recurrent=True),
    ]
    peers = [make(precision) for make in (_hugging_face, _eole, _joeynmt) for precision in precisions]
    return ours + [one for peer in peers for one in (peer, peer.memory_kept)]


def on_gpu() -> list[Contestant]:
    """Return the contestants whose scripts can train on a GPU."""
    return [
        Contestant("multihead", *OURS, {"precision": "auto", "graphs": True}),
        Contestant("without graphs", *OURS, {"precision": "auto", "graphs": False}),
        _hugging_face("bf16", "sdpa"),
        _hugging_face("fp32", "sdpa"),
    ]
