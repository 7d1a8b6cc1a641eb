"""Translate over HTTP: a page, and an interface for programs.

    multihead serve runs/de-en
    multihead serve runs/de-en runs/en-de --port 8000
    curl -d "q=Guten Tag." http://127.0.0.1:8000/translate

The page is at the address that is printed. Programs ask as they ask
LibreTranslate: POST /translate with q, source, target; GET /languages. Requests
that come together are translated together. Ctrl-C ends it when what waits is
answered. Who can reach the address can use it: only this machine, unless --host
says otherwise.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import uvicorn

from multihead import hardware
from multihead.attention_maps import Choice
from multihead.cli import _console, _options
from multihead.cli._searching import Precision, search_settings
from multihead.errors import UserError
from multihead.generation import Translation, Translator
from multihead.inspect.page import Asked
from multihead.run import Run
from multihead.serve.app import application
from multihead.serve.batching import Batcher, Translate
from multihead.serve.service import Direction, Service
from multihead.settings import SearchSettings
from multihead.workflows import tasks
from multihead.workflows.inspection import InspectionRequest

GRACE = 30
"""Seconds that requests have to end after Ctrl-C."""


@dataclass(frozen=True)
class Options:
    """What can be said besides how to search."""

    runs: _options.RunFolders
    """Run folder(s), one for each pair of languages."""
    host: _options.Word = "127.0.0.1"
    """Address to listen on; 0.0.0.0: all of this machine."""
    port: int = 8000
    """Port to listen on; 0: any that is free."""
    max_chars: int = 20_000
    """Characters in one request at most."""
    origin: _options.Text = None
    """A web site whose pages may ask from a browser, such as https://example.org; "*": all. [none]"""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(Options, arguments, sections=("search",), short="search")
    if not options.runs:
        raise UserError("no run folder is named", remedy="multihead serve RUN")
    if options.max_chars < 1:
        raise UserError(f"--max-chars {options.max_chars}", remedy="At least one.")
    console = _console.output()
    with contextlib.ExitStack() as closing:
        listening = closing.enter_context(_listening(options.host, options.port))
        hardware.keep_memory()
        opened = [closing.enter_context(_directions(run, options, given)) for run in options.runs]
        service = Service([direction for directions in opened for direction in directions])
        for one in service.directions:
            console.print(f"{one.source} to {one.target}: {one.name}")
        host, port = listening.getsockname()[:2]
        console.print(f"http://{f'[{host}]' if ':' in host else host}:{port}", soft_wrap=True)
        app = application(service, _look(options.device), most_chars=options.max_chars, origin=options.origin)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE, lifespan="off"
        )
        # It has answered what waited, and then raises what it was ended by: an end as it should be.
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    return 0


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; bound before any model is loaded, so that a port in use is told at once."""
    if not 0 <= port <= 65_535:
        raise UserError(f"--port {port}", remedy="A port is a number from 0 to 65,535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        fact = f"cannot be listened on ({error.strerror or error})"
        raise UserError(fact, place=f"{host}:{port}", remedy="Name another --host or --port.") from error
    with listening:
        yield listening


@contextlib.contextmanager
def _directions(folder: str, options: Options, given: Mapping[str, str]) -> Iterator[list[Direction]]:
    run = Run.open(folder).fit_for("translation")
    settings = search_settings(folder, given)
    translator = Translator.load(folder, device=options.device, precision=options.precision)
    data = run.recipe.data
    ways = {(data.source_language or "source", data.target_language or "target"): translator}
    if translator.directions is not None:
        ways = {pair: translator.toward(pair[1], pair[0]) for pair in translator.directions.trained}
    # Once before anybody waits for it: what is laid out anew for search is laid out then.
    next(iter(ways.values())).translate(["a"], settings)
    with contextlib.ExitStack() as closing:
        free = threading.Lock()
        yield [
            Direction(folder, *pair, closing.enter_context(Batcher(_alone(free, one.translate))), settings)
            for pair, one in ways.items()
        ]


def _alone(free: threading.Lock, translate: Translate) -> Translate:
    """Return a function that translates while no other direction of the same model does."""

    def translated(lines: Sequence[str], settings: SearchSettings) -> list[Translation]:
        with free:
            return translate(lines, settings)

    return translated


def _look(device: str) -> Callable[[str, str], str]:
    def look(run: str, sentence: str) -> str:
        asked = Asked(run, Choice(), words=False, specials=False, full=False)
        return tasks.inspect(run, InspectionRequest(sentence, None, device, asked)).page().html

    return look
