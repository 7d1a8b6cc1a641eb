"""Serve translations over HTTP: a page, and two common APIs.

    multihead serve runs/de-en
    multihead serve runs/de-en runs/en-de --port 8000
    multihead serve runs/de-en --host 0.0.0.0 --keys keys.txt
    curl -d "q=Guten Tag." http://127.0.0.1:8000/translate

The web page is at the printed address, the description of the API at
/openapi.json. Only this machine can connect, unless --host names another
address and --keys FILE says who may use it (or --open that everybody may).
Ctrl-C or SIGTERM stops the server after it has answered pending requests.
"""

import contextlib
import gc
import importlib
import ipaddress
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import uvicorn

from multihead.apps.serve.access import ApiKeys, Rate
from multihead.apps.serve.app import Serving, application
from multihead.apps.serve.connections import BACKLOG, IDLE_SECONDS, timed_protocol
from multihead.apps.serve.corrections import Corrections
from multihead.apps.serve.documents import TranslatedDocument
from multihead.apps.serve.fair_queue import FairQueue
from multihead.apps.serve.glossaries import Glossaries
from multihead.apps.serve.handling import RequestLimits
from multihead.apps.serve.logs import json_log, no_log
from multihead.apps.serve.metrics import Metrics
from multihead.apps.serve.queued import QueuedTranslator
from multihead.apps.serve.service import Review, ServedDirection, Service
from multihead.cli import _console, _options
from multihead.cli._effect import SEARCH_OF_THE_BEST
from multihead.cli._searching import Precision, search_settings
from multihead.data.documents import about_documents, is_installed
from multihead.errors import UserError
from multihead.system import memory
from multihead.tasks.translation.lines.loading import load_translator
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.tasks.translation.without_effect import refuse_other_methods
from multihead.text.terms import Glossary

GRACE = 30
"""Seconds for pending requests after Ctrl-C."""
SWITCH_SECONDS = 0.001
"""Longest time that a thread keeps Python's lock while another waits: answers go through it several times."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides search settings."""

    runs: _options.RunFolders
    """Run folder(s), one per language pair."""
    host: Annotated[str, _options.Option(metavar="ADDRESS")] = "127.0.0.1"
    """Address to listen on; 0.0.0.0 accepts connections on all interfaces, and needs --keys or --open."""
    port: Annotated[int, _options.Option(metavar="N")] = 8000
    """Port to listen on; 0 chooses a free port."""
    keys: _options.File = None
    """File of API keys, one a line: NAME KEY. Requests then need one. (default: none)"""
    open: _options.Flag = False
    """Let everybody who can connect use the server without a key."""
    rate: _options.Number = None
    """Characters a minute for each key, or each address without keys. (default: no limit)"""
    requests: _options.Number = None
    """Requests a minute for each address. (default: no limit)"""
    max_chars: Annotated[int, _options.Option(metavar="N")] = 20_000
    """Largest number of characters per request."""
    deadline: Annotated[float, _options.Option(metavar="SECONDS")] = 60.0
    """Longest time for a request, after which it is refused and its computation stopped."""
    corrections: _options.File = None
    """TSV file to which POST /suggest appends corrections, for the next training. (default: refused)"""
    glossary: Annotated[_options.Files, _options.Option(metavar="FILE...")] = ()
    """Glossaries (docs/reference/text.md) that requests may name, by their file names without ending."""
    glossaries: _options.Folder = None
    """Folder that keeps the glossaries made by clients. (default: they are lost at the end)"""
    name: Annotated[tuple[str, ...], _options.Option(metavar="HOST [HOST ...]")] = ()
    """Host names of this server; requests for other names are refused, except addresses and localhost."""
    origin: _options.Text = None
    """Web origin, such as https://example.org, whose pages may send requests; "*" is any. (default: none)"""
    proxy: Annotated[str | None, _options.Option(metavar="ADDRESS")] = None
    """Address of a reverse proxy whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    log: Literal["json", "none"] = "none"
    """Write one line of JSON per request to standard error; it has no texts and no keys."""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(
        Options, arguments, sections=("search",), short="search", used={"search": SEARCH_OF_THE_BEST}
    )
    serving = _serving(options)
    console = _console.output()
    with contextlib.ExitStack() as stack:
        server_socket = stack.enter_context(_listen(options.host, options.port))
        memory.keep_memory()
        sys.setswitchinterval(SWITCH_SECONDS)
        queue = stack.enter_context(FairQueue(on_batch=serving.metrics.batch))
        opened = [_directions(run, options, keys, queue) for run in options.runs]
        directions = [direction for directions in opened for direction in directions]
        service = Service(directions, queue, seconds=options.deadline)
        gc.freeze()  # no collection during a request looks at what was loaded
        # From the first line printed on; uvicorn raises its signal again when it has drained.
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        for way in service.directions:
            console.print(f"{way.source} to {way.target}: {way.name}")
        host, port = server_socket.getsockname()[:2]
        console.print(f"http://{f'[{host}]' if ':' in host else host}:{port}", soft_wrap=True)
        app = application(
            service,
            _sentence_inspector(options.device),
            translate_document=_translated_document if is_installed() else None,
            serving=serving,
        )
        config = uvicorn.Config(
            app,
            http=timed_protocol(),
            log_level="error",
            access_log=False,
            timeout_graceful_shutdown=GRACE,
            timeout_keep_alive=IDLE_SECONDS,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=options.proxy is not None,
            forwarded_allow_ips=options.proxy,
            h11_max_incomplete_event_size=serving.limits.body_bytes,
        )
        uvicorn.Server(config).run(sockets=[server_socket])
    return 0


def _serving(options: Options) -> Serving:
    """Return what is offered and to whom, after checking the options."""
    for name in ("max_chars", "rate", "requests"):
        if (count := getattr(options, name)) is not None:
            _options.at_least_one(name.replace("_", "-"), count)
    if not options.deadline > 0:
        raise UserError(f"--deadline {options.deadline:g}", remedy="Give a number of seconds above 0.")
    if options.keys is None and not options.open and not _is_loopback(options.host):
        raise UserError(
            "anybody who can connect could use the server",
            place=f"--host {options.host}",
            remedy="Name a file of API keys with --keys FILE, or let everybody in with --open.",
        )
    named: dict[str, Glossary] = {}
    for path in options.glossary:
        if (stem := Path(path).stem) in named:
            raise UserError(f'two glossaries are called "{stem}"', place=path, remedy="Rename one.")
        named[stem] = Glossary.load(path)
    folder = None if options.glossaries is None else Path(options.glossaries)
    return Serving(
        limits=RequestLimits(options.max_chars, rate=Rate(options.rate, "characters")),
        keys=None if options.keys is None else ApiKeys.load(options.keys),
        requests=Rate(options.requests, "requests"),
        corrections=None if options.corrections is None else Corrections(options.corrections),
        glossaries=Glossaries(named, folder),
        origin=options.origin,
        names=options.name,
        log=json_log if options.log == "json" else no_log,
        metrics=Metrics(),
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@contextlib.contextmanager
def _listen(host: str, port: int) -> Iterator[socket.socket]:
    """Bind the server's socket; this precedes loading models, so that a port in use is reported at once."""
    if not 0 <= port <= 65_535:
        raise UserError(f"--port {port}", remedy="Give a number from 0 to 65,535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        server_socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        fact = f"cannot listen on this address ({error.strerror or error})"
        raise UserError(fact, place=f"{host}:{port}", remedy="Choose another --host or --port.") from error
    with server_socket:
        yield server_socket


def _directions(
    folder: str, options: Options, given: Mapping[str, str], queue: FairQueue
) -> list[ServedDirection]:
    settings = search_settings(folder, given)
    # A request for alternatives is a beam search, whatever the method is.
    refuse_other_methods(given, settings.method, methods=("sample",))
    translator = load_translator(folder, device=options.device, precision=options.precision)
    languages = TextTranslator.of_runs(translator, folder)
    source, target = languages.source_language or "source", languages.target_language or "target"
    ways = {(source, target): translator}
    if translator.directions is not None:
        ways = {pair: translator.toward(pair[1], pair[0]) for pair in translator.directions.trained}
    # A first translation prepares the engine, so that the first request is as fast as the others.
    next(iter(ways.values())).translate(["a"], settings)
    directions = []
    for (source, target), model in ways.items():
        texts = languages.around(QueuedTranslator(model, queue, folder))
        directions.append(ServedDirection(folder, source, target, texts, settings))
    return directions


def _translated_document(
    translator: TextTranslator, direction: ServedDirection, name: str, content: bytes
) -> TranslatedDocument:
    """Return the translated document, its cautions, and the places to review."""
    documents = about_documents("multihead.apps.documents.translating_documents", name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        output = path.with_stem(f"{path.stem}.translated")
        path.write_bytes(content)
        try:
            request = documents.DocumentRequest(path, output, direction.settings)
            summary = documents.translate_document(request, translator, [direction.name])
        except UserError as error:
            place = (error.place or "").replace(f"{folder}/", "")  # a folder that clients never see
            raise UserError(error.fact, place=place or None, remedy=error.remedy) from None
        finally:
            memory.return_memory()
        review = [Review(note.place.replace(f"{folder}/", ""), note.reason) for note in summary.notes]
        return TranslatedDocument(output.read_bytes(), list(summary.cautions), review)


def _sentence_inspector(device: str) -> Callable[[str, str], str]:
    def inspect(run: str, sentence: str) -> str:
        module = importlib.import_module("multihead.cli._serve_inspection")
        page: str = module.inspect(run, sentence, device)
        return page

    return inspect
