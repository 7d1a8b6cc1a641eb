"""Serve translators over HTTP: a web page and an API.

    multihead serve runs/de-en
    multihead serve runs/de-en runs/en-de --port 8000
    curl -d "q=Guten Tag." http://127.0.0.1:8000/translate

The web page is at the printed address. The API is compatible with
LibreTranslate: POST /translate with q, source and target; GET /languages.
Concurrent requests are translated in one batch. Ctrl-C stops the server after
it has answered pending requests. There is no authentication: by default only
this machine can connect; --host opens the server to others.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro
import uvicorn

from multihead import hardware
from multihead.attention_maps import Choice
from multihead.cli import _console, _options
from multihead.cli._effect import SEARCH_OF_THE_BEST
from multihead.cli._searching import Precision, search_settings
from multihead.errors import UserError
from multihead.generation import Translation, Translator
from multihead.inspect.page import PageOptions
from multihead.run import Run
from multihead.serve.app import application
from multihead.serve.batching import Batcher, Translate
from multihead.serve.service import Direction, Service
from multihead.settings import SearchSettings
from multihead.workflows import tasks
from multihead.workflows.inspection import InspectionRequest
from multihead.workflows.without_effect import refuse_other_methods

GRACE = 30
"""Seconds for pending requests after Ctrl-C."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides search settings."""

    runs: _options.RunFolders
    """Run folder(s), one per language pair."""
    host: Annotated[str, tyro.conf.arg(metavar="ADDRESS")] = "127.0.0.1"
    """Address to listen on; 0.0.0.0 accepts connections on all interfaces."""
    port: Annotated[int, tyro.conf.arg(metavar="N")] = 8000
    """Port to listen on; 0 chooses a free port."""
    max_chars: Annotated[int, tyro.conf.arg(metavar="N")] = 20_000
    """Largest number of characters per request."""
    origin: _options.Text = None
    """Web origin, such as https://example.org, whose pages may send requests; "*" is any. (default: none)"""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(
        Options, arguments, sections=("search",), short="search", used={"search": SEARCH_OF_THE_BEST}
    )
    if not options.runs:
        raise UserError("no run folder was given", remedy="Usage: multihead serve RUN")
    _options.at_least_one("max-chars", options.max_chars)
    console = _console.output()
    with contextlib.ExitStack() as stack:
        server_socket = stack.enter_context(_listen(options.host, options.port))
        hardware.keep_memory()
        opened = [stack.enter_context(_directions(run, options, given)) for run in options.runs]
        service = Service([direction for directions in opened for direction in directions])
        for one in service.directions:
            console.print(f"{one.source} to {one.target}: {one.name}")
        host, port = server_socket.getsockname()[:2]
        console.print(f"http://{f'[{host}]' if ':' in host else host}:{port}", soft_wrap=True)
        app = application(
            service,
            _sentence_inspector(options.device),
            max_chars=options.max_chars,
            origin=options.origin,
        )
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE, lifespan="off"
        )
        # After a graceful shutdown uvicorn raises the signal again; that is the regular end.
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[server_socket])
    return 0


@contextlib.contextmanager
def _listen(host: str, port: int) -> Iterator[socket.socket]:
    """Bind the server's socket; this precedes loading models, so that a port in use is reported at once."""
    if not 0 <= port <= 65_535:
        raise UserError(f"--port {port}", remedy="Give a number from 0 to 65,535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        server_socket = socket.create_server((host, port), family=family)
    except OSError as error:
        fact = f"cannot listen on this address ({error.strerror or error})"
        raise UserError(fact, place=f"{host}:{port}", remedy="Choose another --host or --port.") from error
    with server_socket:
        yield server_socket


@contextlib.contextmanager
def _directions(folder: str, options: Options, given: Mapping[str, str]) -> Iterator[list[Direction]]:
    run = Run.open(folder).fit_for("translation")
    settings = search_settings(folder, given)
    # A request for alternatives is a beam search, whatever the method is.
    refuse_other_methods(given, settings.method, methods=("sample",))
    translator = Translator.load(folder, device=options.device, precision=options.precision)
    data = run.recipe.data
    ways = {(data.source_language or "source", data.target_language or "target"): translator}
    if translator.directions is not None:
        ways = {pair: translator.toward(pair[1], pair[0]) for pair in translator.directions.trained}
    # A first translation prepares the engine, so that the first request is as fast as the others.
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


def _sentence_inspector(device: str) -> Callable[[str, str], str]:
    def inspect(run: str, sentence: str) -> str:
        view = PageOptions(run, Choice(), words=False, specials=False, full=False)
        return tasks.inspect(run, InspectionRequest(sentence, None, device, view)).page().html

    return inspect
