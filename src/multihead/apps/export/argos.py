"""Export to Argos Translate (github.com/argosopentech/argos-translate), which LibreTranslate serves.

A package is a zip archive of one folder: metadata.json, a CTranslate2 model in model/, and
sentencepiece.model for both languages. Model and vocabulary are those exports.
"""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langcodes import Language

from multihead.apps.export import comparison, ctranslate2, manifest
from multihead.apps.export.library import import_library
from multihead.errors import UserError
from multihead.run import Run, files
from multihead.text.sentencepiece import to_sentencepiece
from multihead.text.tokenizer import Tokenizer

ENDING = ".argosmodel"
VERSION = "1.0"
MODEL, VOCABULARY, METADATA = "model", "sentencepiece.model", "metadata.json"
NOT_READ = ("translate.py", "translate.json")
"""Files of the export to CTranslate2 that a package lacks."""


def export(
    run: Run,
    path: Path,
    quantization: ctranslate2.Quantization = "float32",
    max_loss: float = comparison.MAX_LOSS,
) -> comparison.RuntimeComparison:
    """Write a run as a package, after both runtimes have translated and split the same sentences.

    Args:
        run: a Transformer of one direction, whose recipe names its languages.
        path: new file, ``NAME.argosmodel``; it appears when it is complete.
        quantization: format of the weights.
        max_loss: largest loss of BLEU by quantization.

    Returns:
        The comparison of the translations.

    Raises:
        UserError: every reason why a package cannot express the run; see ``ctranslate2.export``; the file
            exists.
    """
    refuse(run, path)
    data, (tokenizer, _) = run.recipe.data, run.tokenizers()
    languages = data.source_language, data.target_language
    vocabulary = to_sentencepiece(tokenizer)
    name = f"translate-{languages[0]}_{languages[1]}-{VERSION.replace('.', '_')}"
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / name
        folder.mkdir()
        result = ctranslate2.export(run, folder / MODEL, quantization, max_loss=max_loss)
        for file in (*NOT_READ, *(file.name for file in (folder / MODEL).glob("tokenizer*.json"))):
            (folder / MODEL / file).unlink()
        (folder / VOCABULARY).write_bytes(vocabulary)
        verify(run, tokenizer, folder / VOCABULARY)
        (folder / METADATA).write_text(json.dumps(_metadata(*languages), indent=1) + "\n", encoding="utf-8")
        manifest.write(folder / MODEL, "argos", {"sentences": result.sentences})
        files.write(path, lambda partial: _zip(folder, partial))
    return result


def refuse(run: Run, path: Path) -> None:
    """Refuse a run that a package cannot express, with every reason.

    Raises:
        UserError: it cannot; the file exists, or has another ending.
    """
    if path.suffix != ENDING:
        raise UserError(f"a package is a file that ends in {ENDING}", place=str(path), remedy="Rename it.")
    if path.exists():
        raise UserError("there is such a file already", place=str(path), remedy="Name a new one.")
    data, (source, target) = run.recipe.data, run.tokenizers()
    faults = {
        "data.source_language and data.target_language are not named": not (
            getattr(data, "source_language", "") and getattr(data, "target_language", "")
        ),
        "tokenizer.joint = false: two vocabularies": source is not target,
        "several directions": bool(run.directions),
    }
    if reasons := [reason for reason, fault in faults.items() if fault]:
        fact = f"a package of Argos Translate cannot express this run: {', '.join(reasons)}"
        raise UserError(fact, place=str(run.folder), remedy="Use `--to ctranslate2`.")


def verify(run: Run, tokenizer: Tokenizer, vocabulary: Path) -> None:
    """Check that SentencePiece splits and joins the sentences of the comparison as the run does.

    Raises:
        UserError: it differs, or is not installed.
    """
    processor = import_library("sentencepiece").SentencePieceProcessor(model_file=str(vocabulary))
    lines = [tokenizer.normalize(line) for line in comparison.sentences_of(run)[0]]
    differing = [
        line
        for line, ids in zip(lines, tokenizer.encode_batch(lines), strict=True)
        if processor.encode(line, out_type=str) != [tokenizer.piece(number) for number in ids]
    ]
    if differing:
        fact = f"SentencePiece splits {len(differing)} of {len(lines)} sentences otherwise: {differing[0]!r}"
        raise UserError(fact, place=str(run.folder), remedy="Use `--to ctranslate2`.")


def _metadata(source: str, target: str) -> dict[str, Any]:
    return {
        "package_version": VERSION,
        "argos_version": "1.9",
        "from_code": source,
        "from_name": Language.get(source).display_name(),
        "to_code": target,
        "to_name": Language.get(target).display_name(),
        "links": [],
        "type": "translate",
    }


def _zip(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(folder.parent).as_posix(), (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
