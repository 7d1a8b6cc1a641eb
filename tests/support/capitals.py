"""Documents translated into capitals, without a model."""

from pathlib import Path

from scripted_translator import ScriptedTranslator

from multihead.apps.documents.translating_documents import DocumentRequest, Summary, translate_document
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.training import train


def capitals(line: str, settings: SearchSettings) -> list[str]:
    """Translate by capitals; what begins with "Lose" loses its braces."""
    return ["LOST" if line.startswith("Lose") else line.upper()]


def capital_translator() -> TextTranslator:
    """Return a translator from German to capitals."""
    tokenizer = train(["Ein Hund läuft {%}. <br>"] * 3, TokenizerSettings(kind="chars", vocab_size=400))
    return TextTranslator(ScriptedTranslator(tokenizer, capitals), "de", "en")


def translated(translator: TextTranslator, path: Path, **options: object) -> tuple[str, Summary]:
    output = path.with_name(f"out{path.suffix}")
    request = DocumentRequest(path, output, SearchSettings(), **options)  # type: ignore[arg-type]
    summary = translate_document(request, translator, [])
    return output.read_text(encoding="utf-8"), summary


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
