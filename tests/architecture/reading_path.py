"""The files that a reader passes through: ``python tests/architecture/reading_path.py`` prints the table.

A file counts as entered when one of its functions is called (``sys.setprofile``), so the figure is the number
of files of the package that somebody opens who follows a call to its end.
"""

import ast
import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from multihead import cli
from multihead.batch import Source
from multihead.models.transformer import Settings, Transformer
from multihead.search.beam import beam
from multihead.system import native

PACKAGE = Path(__file__).parents[2] / "src" / "multihead"
V, B, S, T = 29, 3, 7, 5


def files_entered(call: Callable[[], object]) -> list[str]:
    """Return the package's files of which a function runs during the call, sorted; imports do not count."""
    entered: set[str] = set()
    importing = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal importing
        if frame.f_code.co_name == "<module>":
            importing += (event == "call") - (event == "return")
        elif event == "call" and not importing and frame.f_code.co_filename.startswith(str(PACKAGE)):
            entered.add(frame.f_code.co_filename)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(Path(name).relative_to(PACKAGE).as_posix() for name in entered)


def model() -> Transformer:
    """Return a small Transformer as published: post-norm, sinusoids, tied matrices."""
    sizes = {"d_model": 22, "d_ff": 34, "num_layers": 2, "num_heads": 2}
    return Transformer(Settings.model_validate({**sizes, "source_vocab": V, "target_vocab": V}))


def training_forward() -> list[str]:
    """Return what ``Transformer.forward`` enters in training, without native kernels."""
    made = model().train()
    source, target = torch.randint(3, V, (B, S)), torch.randint(3, V, (B, T))
    with native.use(""):
        return files_entered(lambda: made(source, target, torch.tensor([S, S - 2, S - 3])))


def beam_search() -> list[str]:
    """Return what a beam search by the model's own steps enters, without native kernels."""
    made = model().eval()
    source = Source(torch.randint(3, V, (B, S)), torch.tensor([S, S - 2, S - 3]))
    with native.use(""):
        return files_entered(lambda: beam(made, source, [[1]] * B, eos_id=2, beam_size=3))


def corpus(folder: Path) -> list[str]:
    """Write 200 made-up pairs into a folder; return the options that name them."""
    words = [first + second for first in "bdfgk" for second in "aeiou"]
    lines = [" ".join(words[(3 * row + place) % 25] for place in range(3 + row % 5)) for row in range(200)]
    for name, text in (("a.txt", lines), ("b.txt", [line[::-1] for line in lines])):
        (folder / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    return ["--src", str(folder / "a.txt"), "--tgt", str(folder / "b.txt")]


def training_run(folder: Path) -> list[str]:
    """Return what ``multihead train`` enters for four updates on two small files; writes ``folder/run``."""
    options = ["--training.steps", "4", "--run", str(folder / "run")]
    cache = ["--data.cache", str(folder / "cache")]
    return files_entered(lambda: cli.main(["train", *corpus(folder), *options, *cache]))


def translated_line(folder: Path) -> list[str]:
    """Return what ``multihead translate`` enters for one line, by the run of :func:`training_run`."""
    (folder / "line.txt").write_text("ba be bi\n", encoding="utf-8")
    files = ["--input", str(folder / "line.txt"), "--output", str(folder / "out.txt")]
    return files_entered(lambda: cli.main(["translate", str(folder / "run"), *files]))


def engines_imported_by_the_model() -> list[str]:
    """Return the engines that ``models/transformer.py`` imports."""
    tree = ast.parse((PACKAGE / "models" / "transformer.py").read_text(encoding="utf-8"))
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [module for module in modules if module.startswith("multihead.engines")]


def decoder_steps() -> list[str]:
    """Return the classes that write the step of a decoder layer of a translator: plain, laid out, native.

    A class counts if its ``step`` does not only call other layers' steps, and is not a protocol.
    """
    found = []
    for file in sorted((*PACKAGE.glob("nn/*.py"), *PACKAGE.glob("engines/**/*.py"))):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef) or "Decoder" not in node.name:
                continue
            if any(ast.unparse(base) == "Protocol" for base in node.bases):
                continue
            steps = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "step"]
            if steps and ".step(" not in ast.unparse(steps[0]):
                found.append(f"{file.relative_to(PACKAGE).as_posix()}:{node.name}")
    return found


def post_norm() -> str:
    """Return the last line of ``PostNorm.forward`` that computes: the equation, read aloud."""
    tree = ast.parse((PACKAGE / "nn" / "residual.py").read_text(encoding="utf-8"))
    (kind,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "PostNorm")
    (forward,) = (each for each in kind.body if isinstance(each, ast.FunctionDef) and each.name == "forward")
    (value,) = (each.value for each in forward.body if isinstance(each, ast.AnnAssign))
    assert value is not None
    return ast.unparse(value)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(sys.stderr):
        folder = Path(name)
        commands = training_run(folder), translated_line(folder)
    for name, part in (
        ("files entered by Transformer.forward in training, native off", training_forward()),
        ("files entered by a beam search by the model's own steps", beam_search()),
        ("files entered by multihead train on two small files", commands[0]),
        ("files entered by multihead translate for one line", commands[1]),
        ("imports of an engine by models/transformer.py", engines_imported_by_the_model()),
        ("implementations of a decoder step", decoder_steps()),
    ):
        print(f"{len(part):3}  {name}\n     {', '.join(part)}")
    print(f"     PostNorm.forward, read aloud: {post_norm()}")
