"""Export of vocabularies to SentencePiece (github.com/google/sentencepiece), with the same ids."""

from pathlib import Path

from multihead.apps.export.folder import write_folder
from multihead.run import Run
from multihead.text.sentencepiece import to_sentencepiece

JOINT, SIDES = "spm.model", ("source.spm.model", "target.spm.model")


def export(run: Run, folder: Path) -> None:
    """Write one SentencePiece model for a joint vocabulary, or one per side.

    Args:
        run: a translator.
        folder: new or empty; it appears when it is complete.

    Raises:
        UserError: a vocabulary is not BPE with byte fallback; the folder is not empty.
    """
    source, target = run.tokenizers()
    named = {JOINT: source} if source is target else dict(zip(SIDES, (source, target), strict=True))
    contents = {name: to_sentencepiece(tokenizer) for name, tokenizer in named.items()}

    def fill(partial: Path) -> None:
        for name, content in contents.items():
            (partial / name).write_bytes(content)

    write_folder(folder, fill)
