"""Pairs in the columns of Parquet and Arrow files, also as ``datasets`` saves them, by pyarrow (an extra)."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text.columns import choose_fields

_ROWS = 1024
"""Rows of a batch."""


def read_columns(data: DataSettings, path: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a file. A null is an empty text, which cleaning counts.

    Args:
        data: columns and languages; ``translation.de`` is a field of a nested column.
        path: the file.
        kind: "parquet" or "arrow".

    Raises:
        UserError: pyarrow is not installed; the file is damaged or empty; a column is missing or holds no
            text; the columns leave the choice of the sides open.
    """
    with _user_errors(path):
        schema, batches = (_parquet if kind == "parquet" else _arrow)(path)
        columns = dict(_text_columns(schema))
    fields = choose_fields(data, list(columns), path)
    for field in fields:
        if field not in columns:
            remedy = f"Columns of text: {', '.join(list(columns)[:20]) or 'none'}."
            raise UserError(f"no column {field!r} of text", place=path, remedy=remedy)
    count = 0
    while True:
        with _user_errors(path):
            batch = next(batches, None)
            if batch is None:
                break
            sides = [_texts(batch, columns[field]) for field in fields]
        count += len(sides[0])
        yield from zip(*sides, strict=True)
    if not count:
        raise UserError("the file is empty", place=path, remedy="Check its name, and that it is complete.")


def _parquet(path: str) -> tuple[Any, Iterator[Any]]:
    file = _pyarrow("pyarrow.parquet", path).ParquetFile(path)
    return file.schema_arrow, file.iter_batches(_ROWS)


def _arrow(path: str) -> tuple[Any, Iterator[Any]]:
    """Open a file of Arrow's file format, or its stream format, which ``datasets`` writes."""
    arrow, ipc = _pyarrow("pyarrow", path), _pyarrow("pyarrow.ipc", path)
    source = arrow.memory_map(path)
    try:
        file = ipc.open_file(source)
    except arrow.ArrowInvalid:
        source.seek(0)
        stream = ipc.open_stream(source)
        return stream.schema, iter(stream)
    return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))


def _text_columns(schema: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name and the path of each column of text; of nested ones as ``translation.de``."""
    types = _pyarrow("pyarrow.types", "")
    for field in schema:
        path = (*above, field.name)
        if types.is_struct(field.type):
            yield from _text_columns(field.type, path)
        elif types.is_string(field.type) or types.is_large_string(field.type):
            yield ".".join(path), path


def _texts(batch: Any, path: tuple[str, ...]) -> list[str]:
    column = batch.column(path[0])
    for name in path[1:]:
        column = column.field(name)
    texts = (text or "" for text in column.to_pylist())
    return [text.replace("\r\n", " ").replace("\n", " ").replace("\0", "\ufffd") for text in texts]


def _pyarrow(module: str, path: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        remedy = "pip install 'multihead[arrow]', or export the file as .jsonl or .csv."
        raise UserError("pyarrow is not installed", place=path, remedy=remedy) from None


@contextmanager
def _user_errors(path: str) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    except FileNotFoundError:
        raise UserError("no such file", place=path, remedy="Check its name and folder.") from None
    except Exception as error:  # pyarrow raises errors of its own and of Python
        message = (str(error) or type(error).__name__).splitlines()[0][:120]
        remedy = "Download or write it again."
        raise UserError(f"cannot be read ({message})", place=path, remedy=remedy) from error
