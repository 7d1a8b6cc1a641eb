"""Limits of the server: time-outs, keys, rates, hosts, origins, fairness and the end of computation."""

import http.client
import json
import resource
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from serving import Reverser, post, reversing, running, send, service

from multihead.apps.serve.access import ApiKeys, Rate
from multihead.apps.serve.app import Serving
from multihead.apps.serve.fair_queue import DeadlineError, FairQueue
from multihead.apps.serve.guard import is_allowed_origin, is_known_host
from multihead.apps.serve.handling import RequestLimits
from multihead.apps.serve.metrics import Metrics
from multihead.apps.serve.queued import QueuedTranslator, Ticket
from multihead.apps.serve.refusal import RefusedError
from multihead.recipe.settings import SearchSettings
from multihead.search.request import check_wanted
from multihead.tasks.translation.lines import Translation

KEY, OTHER = "a-key-that-nobody-can-guess", "another-key-of-another-client"


class Steady(Reverser):
    """Translator that needs ``seconds`` a line and looks whether it is still wanted."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.lines: list[str] = []  # shared by copies
        self.stopped = threading.Event()

    def translate(
        self, lines: Sequence[str], settings: SearchSettings | None = None, **given: Any
    ) -> list[Translation]:
        for line in lines:
            until = time.monotonic() + self.seconds
            while time.monotonic() < until:
                time.sleep(min(0.01, self.seconds))
                try:
                    check_wanted()
                except BaseException:
                    self.stopped.set()
                    raise
            self.lines.append(line)
        return super().translate(lines, settings, **given)


@pytest.fixture
def keys(tmp_path: Path) -> ApiKeys:
    path = tmp_path / "keys.txt"
    path.write_text(f"# clients\nshop {KEY}\nlab {OTHER}\n")
    return ApiKeys.load(path)


def connect(address: str) -> socket.socket:
    parts = urlsplit(address)
    assert parts.hostname
    assert parts.port
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def closed_within(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def drip(connection: socket.socket, seconds: float) -> None:
    """Send a request byte by byte."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection.sendall(b"G")
        time.sleep(0.05)


def test_silent_and_slow_clients_are_closed() -> None:
    with reversing(read_seconds=0.4, idle_seconds=1) as address:
        silent = connect(address)
        half = connect(address)
        half.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        liar = connect(address)  # says that it sends more than it does
        liar.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{}")
        idle = connect(address)
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")
        dripping = connect(address)
        with pytest.raises(ConnectionError):
            drip(dripping, 20)
        assert all(closed_within(one, 10) for one in (silent, half, liar, idle))
        assert send(f"{address}/health")[0] == 200
        for one in (silent, half, liar, idle, dripping):
            one.close()


def test_a_client_that_sends_more_than_it_said_does_no_harm() -> None:
    with reversing(read_seconds=0.4) as address, connect(address) as one:
        body = b'{"q": "ab"}'
        head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body) - 3}\r\n\r\n"
        one.sendall(head.encode() + body + b"garbage\r\n\r\n")
        answer = one.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 400")
        assert closed_within(one, 10)
        assert send(f"{address}/health")[0] == 200


def test_nine_hundred_silent_clients_are_closed_and_others_are_served_meanwhile() -> None:
    count = min(900, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 - 100)
    if count < 100:
        pytest.skip("too few open files are allowed")
    with reversing(read_seconds=1) as address:
        silent = [connect(address) for _ in range(count)]
        assert post(f"{address}/translate", q="ab")[1]["translatedText"] == "ba"
        assert all(closed_within(one, 20) for one in silent)
        for one in silent:
            one.close()


def test_a_request_on_a_connection_that_is_kept_is_not_delayed() -> None:
    """Without TCP_NODELAY the second part of an answer waits 40 ms for an acknowledgement."""
    with reversing() as address:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        times = []
        for _ in range(30):
            began = time.perf_counter()
            connection.request("GET", "/health")
            connection.getresponse().read()
            times.append(time.perf_counter() - began)
        connection.close()
    assert sorted(times)[len(times) // 2] < 0.03


def test_a_key_is_needed_where_there_are_keys(keys: ApiKeys) -> None:
    with reversing(serving=Serving(keys=keys)) as address:
        body = json.dumps({"q": "ab"}).encode()

        def status(**headers: str) -> int:
            return send(f"{address}/translate", body, headers=headers)[0]

        assert status() == 403
        assert status(Authorization=f"Bearer {KEY}x") == 403
        assert status(Authorization=f"Basic {KEY}") == 403
        assert status(Authorization=f"Bearer {KEY}") == 200
        assert status(Authorization=f"DeepL-Auth-Key {OTHER}") == 200
        assert post(f"{address}/translate", q="ab", api_key=KEY)[0] == 200
        assert [send(f"{address}{path}")[0] for path in ("/", "/health", "/languages", "/openapi.json")] == [
            200
        ] * 4
        for path in ("/metrics", "/v2/usage", "/v2/glossaries", "/inspect?q=a"):
            assert send(f"{address}{path}")[0] == 403
            assert send(f"{address}{path}", headers={"Authorization": f"Bearer {KEY}"})[0] == 200


def test_neither_texts_nor_keys_are_logged(keys: ApiKeys) -> None:
    records: list[dict[str, object]] = []
    metrics = Metrics()
    serving = Serving(keys=keys, log=lambda **values: records.append(values), metrics=metrics)
    with reversing(serving=serving) as address:
        secret = "Sehr geheim"
        post(f"{address}/translate", q=secret, api_key=KEY)
        post(f"{address}/translate", q=secret, api_key=f"{KEY}wrong")
        send(f"{address}/translate/{KEY}?q=geheim")
        written = json.dumps(records) + metrics.text().decode()
    assert "geheim" not in written
    assert KEY not in written
    assert records[0]["key"] == "shop"
    assert (records[0]["characters"], records[0]["source"]) == (len(secret), "de")
    assert [one["route"] for one in records] == ["/translate", "/translate", "other"]
    assert 'multihead_characters_total{source="de",target="en"} 11.0' in written


def test_a_bug_is_logged_by_its_place_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Reverser):
        def translate(self, lines: Sequence[str], *_: Any, **__: Any) -> list[Translation]:
            raise KeyError("geheim")

    records: list[dict[str, object]] = []
    serving = Serving(log=lambda **values: records.append(values))
    with service(("de", "en"), translator=Broken()) as served, running(served, serving) as address:
        assert post(f"{address}/translate", q="geheim") == (
            500,
            {"error": "internal error", "message": "internal error"},
        )
    assert str(records[0]["error"]).startswith("KeyError at test_limits.py:")
    assert "internal error: KeyError at" in caplog.text
    assert "geheim" not in caplog.text + json.dumps(records)


def test_keys_are_kept_as_digests_only(keys: ApiKeys) -> None:
    assert keys.name_of(KEY) == "shop"
    assert keys.name_of(OTHER) == "lab"
    assert keys.name_of("") is None
    assert keys.name_of("ä\ud800") is None
    assert KEY not in repr(vars(keys))


def test_characters_and_requests_a_minute_are_limited() -> None:
    serving = Serving(
        limits=RequestLimits(chars=100, rate=Rate(60, "characters")), requests=Rate(5, "requests")
    )
    with reversing(serving=serving) as address:
        assert post(f"{address}/translate", q="a" * 30)[0] == 200
        assert post(f"{address}/translate", q="a" * 20)[0] == 200
        status, answer, headers = send(f"{address}/translate", b'{"q": "' + b"a" * 20 + b'"}')
        assert (status, json.loads(answer)["error"]) == (429, "more than 60 characters a minute")
        assert 1 <= int(headers["retry-after"]) <= 12
        assert [send(f"{address}/health")[0] for _ in range(3)] == [200, 200, 429]


def test_a_rate_comes_back_in_a_minute_and_an_address_is_not_remembered_for_ever() -> None:
    now = [0.0]
    rate = Rate(60, "characters", clock=lambda: now[0])
    rate.spend("a", 500)  # more than the whole budget needs a full one
    with pytest.raises(RefusedError) as refused:
        rate.spend("a", 60)
    assert refused.value.retry == 501
    rate.spend("b", 60)
    now[0] = 501.0
    rate.spend("a", 60)
    for number in range(20_000):
        rate.spend(str(number), 1)
    assert len(rate._used) == 10_000


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("localhost", True),
        ("LOCALHOST.:80", True),
        ("192.0.2.7", True),
        ("mt.example.org:443", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_only_hosts_that_cannot_be_rebound_are_known(host: str, known: bool) -> None:
    assert is_known_host(host, ["mt.example.org"]) is known


def test_pages_of_other_origins_are_refused() -> None:
    assert is_allowed_origin("http://localhost:8000", "localhost:8000", None)
    assert not is_allowed_origin("http://localhost:8001", "localhost:8000", None)
    assert not is_allowed_origin("null", "localhost:8000", None)
    assert not is_allowed_origin("file://localhost:8000", "localhost:8000", None)
    assert is_allowed_origin("https://a.b", "localhost:8000", "https://a.b")
    assert is_allowed_origin("https://c.d", "localhost:8000", "*")
    with reversing(serving=Serving(origin="https://a.b")) as address:
        body = b'{"q": "ab"}'
        status, _, headers = send(f"{address}/translate", body, headers={"Origin": "https://a.b"})
        assert (status, headers["access-control-allow-origin"]) == (200, "https://a.b")
        assert send(f"{address}/translate", body, headers={"Origin": address})[0] == 200
        assert send(f"{address}/translate", body, headers={"Origin": "https://evil.example"})[0] == 403
        assert send(f"{address}/health", headers={"Host": "evil.example"})[0] == 421


@pytest.fixture
def steady() -> Iterator[tuple[str, Steady]]:
    translator = Steady(0.01)
    with service(("de", "en"), seconds=20.0, translator=translator) as served, running(served) as address:
        yield address, translator


def test_a_small_request_is_not_kept_waiting_by_a_large_one(steady: tuple[str, Steady]) -> None:
    address, translator = steady
    # Letters, since numbers must survive, and this translator would reverse them.
    text = "\n".join(f"Zeile {one}{other}" for one in "abcdefghij" for other in "abcdefghijklmnopqrst")
    with ThreadPoolExecutor(2) as pool:
        large = pool.submit(post, f"{address}/translate", q=text, alternatives=9)
        while len(translator.lines) < 20:
            time.sleep(0.01)
            assert not large.done()
        assert post(f"{address}/translate", q="ab")[1]["translatedText"] == "ba"
        assert not large.done()
        assert len(translator.lines) < 150, "it waits for one block of the 200 lines"
        assert large.result()[1]["translatedText"].startswith("aa elieZ\nba elieZ")


def test_computation_stops_when_the_client_leaves(steady: tuple[str, Steady]) -> None:
    address, translator = steady
    translator.seconds = 30
    with connect(address) as one:
        body = b'{"q": "a sentence"}'
        one.sendall(
            b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        time.sleep(0.3)
    assert translator.stopped.wait(10)
    translator.seconds = 0
    assert post(f"{address}/translate", q="ab")[1]["translatedText"] == "ba"


def test_nothing_is_computed_for_a_client_that_has_left() -> None:
    with FairQueue() as queue:
        translator = QueuedTranslator(Reverser(), queue, "reverser")
        left, late = Ticket(), Ticket(seconds=0)
        left.give_up()
        for ticket in (left, late):
            mine = translator.for_request(ticket)
            with pytest.raises(DeadlineError):
                mine.attend_source([[1]], [[1]])
            with pytest.raises(DeadlineError):
                mine.translate(["a"])
        assert not queue.waiting


def test_computation_stops_at_the_deadline() -> None:
    translator = Steady(30)
    with service(("de", "en"), seconds=0.5, translator=translator) as served, running(served) as address:
        status, answer = post(f"{address}/translate", q="a sentence")
        assert (status, answer["error"]) == (504, "it took more than 0.5 seconds; split the request")
        assert translator.stopped.wait(10)


def test_two_hundred_clients_get_what_they_get_one_after_the_other() -> None:
    letters = "abcdefghijklmnopqrst"
    texts = [f"Satz {one}{other}. Noch einer, {other}!" for one in letters[:10] for other in letters]
    with reversing() as address:
        serial = [post(f"{address}/translate", q=text)[1]["translatedText"] for text in texts[:20]]
        with ThreadPoolExecutor(200) as pool:
            found = list(
                pool.map(lambda text: post(f"{address}/translate", q=text)[1]["translatedText"], texts)
            )
    assert found[:20] == serial
    assert len(set(found)) == 200
