"""Download or copy a corpus of the catalogue, verifying the checksum of every file."""

import http.client
import shutil
import time
import urllib.request
from pathlib import Path

from multihead.data.catalogue import CatalogueCorpus, CorpusFile
from multihead.errors import UserError
from multihead.system.disk import sha256, sync
from multihead.system.progress import OnProgress

ATTEMPTS = 4
TIMEOUT = 30.0
"""Seconds without data after which a connection is abandoned."""
PAUSE = 1.0
"""Seconds before the second attempt; the wait grows by as much with each further attempt."""
BLOCK = 1 << 16


def get(
    corpus: CatalogueCorpus, to: Path, *, source: Path | None = None, progress: OnProgress | None = None
) -> None:
    """Download or copy the files of a corpus into a folder; files already there and intact are kept.

    An interrupted download is resumed, now or by a later call. Only ``*.part`` files are ever incomplete.

    Args:
        corpus: an entry of the catalogue.
        to: the folder, created if needed.
        source: folder to copy the files from instead of downloading them.
        progress: called after every block.

    Raises:
        UserError: no network, a file with another checksum, a full disk, or a corpus without URL.
    """
    if source is None and not corpus.url:
        remedy = f"{corpus.instructions} If you have the files in a folder: --from FOLDER."
        raise UserError("its files cannot be downloaded", place=corpus.name, remedy=remedy)
    report: OnProgress = progress or (lambda name, done, total: None)
    try:
        to.mkdir(parents=True, exist_ok=True)
        for file in corpus.files:
            path = to / file.name
            if not path.exists():
                try:
                    if source is None:
                        _download(corpus.url + file.name, file, path, report)
                    else:
                        _copy(source / file.name, file, path)
                except OSError:
                    _partial(path).unlink(missing_ok=True)  # useless, and takes up space on a full disk
                    raise
            elif not is_intact(path, file):
                remedy = "Move it away, or choose another folder with --to."
                fact = f"not the file of {corpus.name}: its SHA-256 differs"
                raise UserError(fact, place=str(path), remedy=remedy)
            report(file.name, file.size, file.size)
    except OSError as error:
        raise UserError(
            f"cannot be written ({error.strerror or error})",
            place=str(error.filename or to),
            remedy="Choose another folder with --to, or free some space.",
        ) from error


def is_intact(path: Path, file: CorpusFile) -> bool:
    """Return True if the file exists with the right size and SHA-256."""
    return path.is_file() and path.stat().st_size == file.size and sha256(path) == file.sha256


def _copy(source: Path, file: CorpusFile, path: Path) -> None:
    if not is_intact(source, file):
        fact = "unexpected contents: the SHA-256 differs" if source.exists() else "no such file"
        remedy = "Name a folder with the original files, or omit --from to download them."
        raise UserError(fact, place=str(source), remedy=remedy)
    shutil.copyfile(source, _partial(path))
    _finish(_partial(path), path)


def _download(url: str, file: CorpusFile, path: Path, report: OnProgress) -> None:
    partial, reason = _partial(path), ""
    # An earlier call may have been killed after the last byte; a server rejects a range past the end.
    if _is_finalised(partial, file, path):
        return
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE * attempt)
        resumed = partial.exists()
        reason = _fetch_rest(url, file, partial, report)
        if _is_finalised(partial, file, path):
            return
        if not partial.exists() and not resumed:
            fact = "the server sent unexpected contents (the SHA-256 differs); nothing was kept"
            raise UserError(fact, place=url, remedy="Try later, or copy the files from a folder: --from.")
    fact = f"the connection was lost after {_size(partial):,} of {file.size:,} bytes ({reason})"
    raise UserError(fact, place=url, remedy="Run the same command again to resume.")


def _is_finalised(partial: Path, file: CorpusFile, path: Path) -> bool:
    """Rename a complete, intact file and return True; delete one of full size that is not intact."""
    if is_intact(partial, file):
        _finish(partial, path)
        return True
    if _size(partial) >= file.size:
        partial.unlink()
    return False


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _fetch_rest(url: str, file: CorpusFile, partial: Path, report: OnProgress) -> str:
    """Append the missing bytes; return the reason why the transfer ended."""
    start = _size(partial)
    with _open(url, start) as response, partial.open("ab" if response.status == 206 else "wb") as out:
        while out.tell() <= file.size:
            try:
                block = response.read(BLOCK)
            except (OSError, http.client.HTTPException) as error:
                return str(error) or type(error).__name__
            if not block:
                return "end of data"
            out.write(block)
            report(file.name, min(out.tell(), file.size), file.size)
    return "too many bytes"


def _open(url: str, start: int) -> http.client.HTTPResponse:
    """Request a file from byte ``start``; a server may ignore the range and send all of it."""
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT)
    except (OSError, http.client.HTTPException) as error:
        fact = f"cannot be downloaded ({getattr(error, 'reason', '') or error})"
        remedy = "Check the network, or copy the files from a folder: --from FOLDER."
        raise UserError(fact, place=url, remedy=remedy) from error
    return response


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _finish(partial: Path, path: Path) -> None:
    sync(partial)
    partial.replace(path)
