"""Options of the commands that read a parallel corpus and write files of both sides."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from multihead.cli import _options
from multihead.data.pairs import read_pairs
from multihead.recipe.settings import DataSettings, FileFormat
from multihead.text.lines import file_kind


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """A corpus, and how its files are read."""

    src: _options.Files
    """File(s) of the source side, or TSV, CSV, JSONL, TMX, XLIFF or PO files with both sides."""
    tgt: _options.Files = ()
    """File(s) of the target side, aligned with the source line by line."""
    format: Annotated[FileFormat, _options.Option(metavar="NAME")] = "auto"
    """Format of the files; auto decides by the extension (qt, a .ts file of Qt Linguist, must be named)."""
    source_field: _options.Text = None
    """TSV or CSV column (number or header name) or JSONL key of the source. (default: by the header)"""
    target_field: _options.Text = None
    """TSV or CSV column or JSONL key of the target. (default: by the header)"""
    encoding: _options.Encoding = "utf-8"
    """Text encoding of the files."""
    source_language: Annotated[_options.Text, _options.Option(aliases=("--src-lang",))] = None
    """Source language, such as de; needed for TMX; output ending. (default: that of --src, or source)"""
    target_language: Annotated[_options.Text, _options.Option(aliases=("--tgt-lang",))] = None
    """Target language, such as en, likewise."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs of the corpus. Raises ``UserError``: see ``data.pairs.read_pairs``."""
        data = DataSettings(
            format=self.format,
            source_field=self.source_field or "",
            target_field=self.target_field or "",
            encoding=self.encoding,
            source_language=self.source_language or "",
            target_language=self.target_language or "",
        )
        return read_pairs(data, self.src, self.tgt)

    def endings(self) -> tuple[str, str]:
        """Endings of files of both sides: from the options, from the input files, or the default ones."""
        endings = [file_kind(files[0]).removeprefix(".") if files else "" for files in (self.src, self.tgt)]
        usable = all(ending.isalnum() for ending in endings) and endings[0] != endings[1]
        source, target = endings if usable else ("source", "target")
        return self.source_language or source, self.target_language or target
