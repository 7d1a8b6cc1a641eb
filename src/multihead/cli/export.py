"""Export a run or its vocabulary to another toolkit.

    multihead export runs/de-en --to ctranslate2 -o de-en.ct2
    multihead export runs/de-en --to ctranslate2 -o small --quantization int8
    multihead export runs/de-en --to sentencepiece -o vocabulary
    multihead export runs/student --to firefox -o student.firefox
    multihead export runs/de-en --to onnx -o de-en.onnx
    multihead export runs/de-en --to huggingface -o de-en.hf
    multihead export runs/de-en --to argos -o de_en.argosmodel
    multihead export runs/de-en --to page -o de-en.html

CTranslate2 is a fast C++ runtime for machines without PyTorch; its folder
contains the model, the tokenizer, and translate.py, which needs no multihead.
Both runtimes translate the same sentences first (comparison.json in the
folder). SentencePiece is the tokenizer of many toolkits; its folder contains
spm.model with our token ids. Firefox's translation engine runs students
(`multihead distill`) in int8, in a browser without a network; int8 is
calibrated on validation sentences. The page is one file that translates in a
browser while one types, without a network, and draws every head; --pwa DIR
writes it as a folder that browsers can install. ONNX Runtime runs the encoder
and the decoder step of onnx. huggingface is a folder for transformers
(MarianMT, GPT-2, BERT, ViT), argos a package for LibreTranslate.
docs/how-to/export.md says what each target can express.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from multihead.apps import huggingface
from multihead.apps.export import argos, comparison, ctranslate2, firefox, manifest, onnx, sentencepiece
from multihead.apps.export.calibration import calibration_lines
from multihead.cli import _console, _options, _page
from multihead.cli._effect import refuse_options
from multihead.errors import UserError
from multihead.run import Run

EXAMPLE = """\
  python {folder}/translate.py < letter.txt   (needs ctranslate2 and tokenizers only)
In Python:
  import sys
  sys.path.insert(0, "{folder}")
  from translate import Translator
  print(Translator().translate(["..."]))"""


NORMALISATION = "Its input must be in Unicode NFC, and lower-cased if the run is; SentencePiece does neither."


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder."""
    to: Annotated[
        Literal["ctranslate2", "sentencepiece", "firefox", "page", "onnx", "huggingface", "argos"],
        _options.Option(metavar="TARGET"),
    ]
    """Toolkit or format."""
    output: Annotated[_options.Folder, _options.Option(aliases=("-o",))] = None
    """New folder, which appears when it is complete; with --to page and argos, a file."""
    pwa: _options.Folder = None
    """New folder for a web server: the page, installable in browsers (page)."""
    exact: _options.Flag = False
    """Weights in float32 instead of int8, in a larger and slower file (page)."""
    quantization: Annotated[
        ctranslate2.Quantization,
        _options.Option(
            metavar="FORMAT",
            help="Format of the weights in CTranslate2; int8 takes a quarter of the space and is fast on a "
            f"CPU. One of {', '.join(get_args(ctranslate2.Quantization))}.",
        ),
    ] = "float32"
    max_loss: Annotated[float, _options.Option(metavar="BLEU")] = comparison.MAX_LOSS
    """Largest loss of BLEU by quantization on the run's validation data; above it nothing is written."""
    calibrate: _options.Files = ()
    """File(s) of sentences of the source language, one a line, that int8 is calibrated with (firefox), or
    that are examples and checks (page). (default: the run's validation data)"""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.to == "page":
        refuse_options(options, ("quantization", "max_loss"), "on the export of a page: int8, or --exact")
        return _page.export(options.run, options.output, options.pwa, options.calibrate, exact=options.exact)
    refuse_options(options, ("pwa", "exact"), "without --to page")
    if not options.output:
        raise UserError(
            "no output folder was given", remedy=f"Usage: multihead export RUN --to {options.to} -o DIR"
        )
    run, folder = Run.open(options.run), Path(options.output)
    if options.to != "huggingface":
        run.fit_for("translation")
    if options.to != "sentencepiece":
        _console.messages().print("writing, then comparing with the run; a large model takes minutes ...")
    if options.to != "firefox":
        refuse_options(options, ("calibrate",), "without --to firefox")
    if options.to == "firefox":
        refuse_options(options, ("quantization", "max_loss"), "on the export to firefox: float32 and int8")
        _firefox(run, folder, options.calibrate)
        return 0
    if options.to in ("onnx", "huggingface"):
        refuse_options(options, ("quantization", "max_loss"), f"on the export to {options.to}: float32")
        export = onnx.export if options.to == "onnx" else huggingface.export
        verified = export(run, folder)
        _console.messages().print(f"{folder}: {_megabytes(folder):.1f} MB\n{verified}")
        return 0
    if options.to == "argos":
        compared = argos.export(run, folder, options.quantization, options.max_loss)
        _console.messages().print(f"{folder}: {folder.stat().st_size / 1e6:.1f} MB\n{compared}")
        return 0
    if options.to == "sentencepiece":
        refuse_options(options, ("quantization", "max_loss"), "on the export of a vocabulary")
        sentencepiece.export(run, folder)
        written = ", ".join(sorted(file.name for file in folder.iterdir()))
        _console.messages().print(f"{folder}: {written}\n{NORMALISATION}")
        return 0
    report = ctranslate2.export(run, folder, options.quantization, max_loss=options.max_loss)
    console = _console.messages()
    console.print(f"{folder}: {options.quantization}, {_megabytes(folder):.1f} MB")
    console.print(str(report))
    console.print(EXAMPLE.format(folder=folder))
    return 0


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def _firefox(run: Run, folder: Path, calibrate: Sequence[str]) -> None:
    report = firefox.export(run, folder, calibration_lines(run, calibrate))
    console = _console.messages()
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    large = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items() if size >= 1e5)
    console.print(
        f"{folder}: {large}, and {len([size for size in sizes.values() if size < 1e5])} small files"
    )
    console.print(
        f"float32 gives the model's tokens for {report.float_agreement:.1%} of {report.sentences} sentences, "
        f"int8 those of float32 for {report.int8_agreement:.1%}"
    )
    if report.saturated:
        limits = [report.limits[name] for name in report.saturated]
        summary = (
            f"{len(limits)} of {len(report.limits)} matrices are limited to {min(limits)} to {max(limits)}"
        )
        console.print(f"{summary} of 127, so that sums do not saturate; {manifest.NAME} names them")
