"""Get a known corpus: from its publisher or from a folder, every file checked before it gets its name."""

import hashlib
import http.client
import shutil
import time
import urllib.request
from pathlib import Path

from multihead.data.catalogue import KnownData, KnownFile
from multihead.disk import sync
from multihead.errors import UserError
from multihead.progress import OnProgress

ATTEMPTS = 4
TIMEOUT = 30.0
"""Seconds without a byte after which a connection is given up."""
PAUSE = 1.0
"""Seconds to wait before the second attempt, and as much longer before each further one."""
BLOCK = 1 << 16


def get(
    corpus: KnownData, to: Path, *, source: Path | None = None, progress: OnProgress | None = None
) -> None:
    """Put the corpus's files into a folder; those that are there already, with the right bytes, are kept.

    A download that breaks off is taken up where it stopped, now or by a later call; nothing but
    ``*.part`` files is ever incomplete.

    Args:
        corpus: from ``known``.
        to: the folder, made if need be.
        source: copy the files from this folder instead of downloading them.
        progress: is told of every block.

    Raises:
        UserError: no network, a file that is not the one meant, a full disk, or no address.
    """
    if source is None and not corpus.url:
        remedy = f"{corpus.by_hand} A folder that holds them already: --from FOLDER."
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
                    _partial(path).unlink(missing_ok=True)  # of no use, and in the way on a full disk
                    raise
            elif not is_right(path, file):
                remedy = "Move it away, or choose another folder with --to."
                raise UserError(f"is not the file that {corpus.name} means", place=str(path), remedy=remedy)
            report(file.name, file.size, file.size)
    except OSError as error:
        raise UserError(
            f"cannot be written ({error.strerror or error})",
            place=str(error.filename or to),
            remedy="Choose another folder with --to, or make room.",
        ) from error


def is_right(path: Path, file: KnownFile) -> bool:
    """Return whether the file is there, with the right bytes."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256


def _copy(source: Path, file: KnownFile, path: Path) -> None:
    if not is_right(source, file):
        fact = "has other bytes than expected (SHA-256)" if source.exists() else "no such file"
        remedy = "Name a folder with the original files, or leave out --from to download them."
        raise UserError(fact, place=str(source), remedy=remedy)
    shutil.copyfile(source, _partial(path))
    _finish(_partial(path), path)


def _download(url: str, file: KnownFile, path: Path, report: OnProgress) -> None:
    partial, why = _partial(path), ""
    # What a call left that was killed before the last step: a server has nothing to add to it.
    if _settled(partial, file, path):
        return
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE * attempt)
        resumed = partial.exists()
        why = _fetch_rest(url, file, partial, report)
        if _settled(partial, file, path):
            return
        if not partial.exists() and not resumed:
            fact = "the server sends other bytes than expected (SHA-256); nothing was kept"
            raise UserError(fact, place=url, remedy="Try later, or take the files from a folder: --from.")
    fact = f"the connection broke off after {_size(partial):,} of {file.size:,} bytes ({why})"
    raise UserError(fact, place=url, remedy="Run the same command again: it goes on from there.")


def _settled(partial: Path, file: KnownFile, path: Path) -> bool:
    """Give a whole file its name and return True; one that can no longer become right is thrown away."""
    if is_right(partial, file):
        _finish(partial, path)
        return True
    if _size(partial) >= file.size:
        partial.unlink()
    return False


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _fetch_rest(url: str, file: KnownFile, partial: Path, report: OnProgress) -> str:
    """Append what is still missing; return why no more came."""
    start = _size(partial)
    with _opened(url, start) as response, partial.open("ab" if response.status == 206 else "wb") as out:
        while out.tell() <= file.size:
            try:
                block = response.read(BLOCK)
            except (OSError, http.client.HTTPException) as error:
                return str(error) or type(error).__name__
            if not block:
                return "it ended early"
            out.write(block)
            report(file.name, min(out.tell(), file.size), file.size)
    return "it went on too long"


def _opened(url: str, start: int) -> http.client.HTTPResponse:
    """Ask for a file from byte ``start`` on; a server may send the whole of it all the same."""
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT)
    except (OSError, http.client.HTTPException) as error:
        fact = f"cannot be fetched ({getattr(error, 'reason', '') or error})"
        remedy = "Check the network, or take the files from a folder that holds them: --from FOLDER."
        raise UserError(fact, place=url, remedy=remedy) from error
    return response


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _finish(partial: Path, path: Path) -> None:
    sync(partial)
    partial.replace(path)
