"""The HTTP routes over a socket, with a translator that reverses lines."""

import asyncio
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from typing import cast

import pytest
import uvicorn
from starlette.requests import ClientDisconnect, Request

from multihead.errors import UserError
from multihead.generation import Output, Translation
from multihead.serve.app import MAX_INSPECTIONS, _while_connected, application
from multihead.serve.batching import Batcher
from multihead.serve.request import TranslationRequest
from multihead.serve.service import Answer, Direction, Service
from multihead.settings import SearchSettings


def reverse(lines: Sequence[str], settings: SearchSettings) -> list[Translation]:
    """Reverse each line; alternatives are upper-cased and lower-cased."""
    if "broken" in lines:
        raise UserError("scores are not finite")
    found = []
    for line in lines:
        if len(line) > 20:
            found.append(Translation("", line, note="too long"))
            continue
        variants = [line[::-1], line[::-1].upper(), line[::-1].lower()][: settings.n_best]
        outputs = tuple(Output(text, (), 0.0, 0.0, cut=False) for text in variants) if line else ()
        found.append(Translation(line[::-1], line, outputs, note="cut" if line == "cut" else None))
    return found


RELEASE = threading.Event()


def inspected(run: str, sentence: str) -> str:
    if sentence == "_":
        raise UserError("the sentence has no words")
    if sentence == "slow":
        assert RELEASE.wait(30)
    return f"<p>{run}: {len(sentence)}"


@contextmanager
def directions(*pairs: tuple[str, str]) -> Iterator[list[Direction]]:
    with Batcher(reverse) as batcher:
        yield [Direction(f"runs/{a}-{b}", a, b, batcher, SearchSettings()) for a, b in pairs]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Yield the address of a server for German to English and French."""
    with (
        directions(("de", "en"), ("de", "fr")) as served,
        closing(socket.create_server(("127.0.0.1", 0))) as at,
    ):
        app = application(
            Service(served),
            inspected,
            max_chars=50,
            origin="https://a.b",
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [at]})
        thread.start()
        yield f"http://127.0.0.1:{at.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def send(url: str, body: bytes | None = None, kind: str = "application/json") -> tuple[int, str]:
    """Send a request and return status and body of the answer."""
    request = urllib.request.Request(url, body, {"Content-Type": kind, "Origin": "https://a.b"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.headers["access-control-allow-origin"] == "https://a.b"
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def translate(address: str, **fields: object) -> tuple[int, dict[str, object]]:
    status, answer = send(f"{address}/translate", json.dumps(fields).encode())
    return status, json.loads(answer)


def test_a_text_is_answered_with_a_text_and_a_list_with_a_list(address: str) -> None:
    assert translate(address, q="abc", source="de", target="en") == (200, {"translatedText": "cba"})
    assert translate(address, q=["ab", "", "x\r\n\ny z"]) == (200, {"translatedText": ["ba", "", "x\n\nz y"]})
    assert translate(address, q=[]) == (200, {"translatedText": []})


def test_forms_are_accepted(address: str) -> None:
    kind = "application/x-www-form-urlencoded; charset=utf-8"
    assert json.loads(send(f"{address}/translate", "q=ä+%C3%B6".encode(), kind)[1]) == {
        "translatedText": "ö ä"
    }
    assert json.loads(send(f"{address}/translate", b' {"q": "ab"}', kind)[1]) == {"translatedText": "ba"}
    status, answer = send(f"{address}/translate", b"--x", "multipart/form-data; boundary=x")
    assert (status, "send JSON, or a form" in answer) == (415, True)
    status, answer = send(f"{address}/translate", b"q=%ff", kind)
    assert status == 400
    assert "not UTF-8" in answer


def test_alternatives_are_the_next_best_of_each_line(address: str) -> None:
    answer = {"translatedText": "bA\n\nc", "alternatives": ["BA\n\nC", "ba\n\nc"]}
    assert translate(address, q="Ab\n\nc", alternatives=2) == (200, answer)
    assert translate(address, q=["a"], alternatives=1)[1]["alternatives"] == [["A"]]


def test_truncation_is_noted_and_an_untranslated_line_refuses_the_request(address: str) -> None:
    assert translate(address, q="a\ncut")[1] == {"translatedText": "a\ntuc", "notes": ["line 2: cut"]}
    assert translate(address, q="a\n" + "b" * 21) == (400, {"error": "line 2: too long"})


@pytest.mark.parametrize(
    ("body", "status", "fact"),
    [
        (b'{"q": ', 400, "not JSON"),
        (b"[" * 10_000, 413, "too large"),
        (b"[" * 3_000, 400, "not JSON"),
        (b'"\xff"', 400, "not JSON"),
        (b'{"q": "' + b"a" * 51 + b'"}', 413, "more than 50 characters"),
        (b'{"q": "a", "source": "\\ud800"}', 400, "must be a language code"),
        (b'{"q": "a", "target": "ko"}', 400, "this server translates de to en, de to fr"),
        (b'{"q": "broken"}', 500, "scores are not finite"),
    ],
)
def test_an_invalid_request_gets_an_error_with_its_reason(
    address: str, body: bytes, status: int, fact: str
) -> None:
    code, answer = send(f"{address}/translate", body)
    assert code == status
    assert fact in json.loads(answer)["error"]


def test_languages_health_page_and_inspection_routes(address: str) -> None:
    languages = json.loads(send(f"{address}/languages")[1])
    assert languages == [{"code": "de", "name": "German", "targets": ["en", "fr"]}]
    assert json.loads(send(f"{address}/health")[1]) == {"status": "ok"}
    assert "<textarea" in send(f"{address}/")[1]
    assert send(f"{address}/inspect?q=Guten%20Tag&target=fr") == (200, "<p>runs/de-fr: 9")
    assert send(f"{address}/inspect?q=")[0] == 400
    assert send(f"{address}/inspect?q=_") == (400, '{"error":"the sentence has no words"}')
    assert send(f"{address}/inspect?q={'a' * 501}")[0] == 400
    assert send(f"{address}/nothing")[0] == 404
    assert json.loads(send(f"{address}/nothing")[1]) == {"error": "there is no /nothing"}
    assert json.loads(send(f"{address}/translate")[1]) == {"error": "/translate does not accept GET"}


def test_the_number_of_concurrent_inspections_is_limited(address: str) -> None:
    with ThreadPoolExecutor(MAX_INSPECTIONS + 3) as pool:
        requests = [
            pool.submit(send, f"{address}/inspect?q=slow&target=fr") for _ in range(MAX_INSPECTIONS + 3)
        ]
        answers = as_completed(requests, timeout=30)
        assert [next(answers).result()[0] for _ in range(3)] == [503] * 3
        RELEASE.set()
        assert [one.result()[0] for one in answers] == [200] * MAX_INSPECTIONS
    assert send(f"{address}/inspect?q=Tag&target=fr")[0] == 200


def test_two_translators_of_the_same_languages_are_a_user_error() -> None:
    with directions(("de", "en"), ("de", "en")) as (one, other):
        again = Direction("runs/other", "de", "en", other.batcher, other.settings)
        with pytest.raises(UserError, match="runs/de-en and runs/other both translate from de to en"):
            Service([one, again])


def test_a_full_queue_is_a_503() -> None:
    with directions(("de", "en")) as (one,):
        pass
    with pytest.raises(Exception, match="the queue is full") as raised:
        asyncio.run(Service([one]).answer(TranslationRequest(["a"], single=True)))
    assert raised.value.status == 503  # type: ignore[attr-defined]


def test_translations_are_grouped_by_text() -> None:
    with directions(("de", "en")) as served:
        found = asyncio.run(Service(served).answer(TranslationRequest(["a\nbc", "", "def"], single=False)))
    assert found == Answer(["a\ncb", "", "fed"], [[], [], []], [])


def test_a_request_is_cancelled_when_its_client_disconnects() -> None:
    class Disconnected:
        async def is_disconnected(self) -> bool:
            return True

    async def slow() -> str:
        await asyncio.sleep(60)
        return "late"

    async def fast() -> str:
        return "in time"

    with pytest.raises(ClientDisconnect):
        asyncio.run(_while_connected(cast(Request, Disconnected()), slow()))
    assert asyncio.run(_while_connected(cast(Request, Disconnected()), fast())) == "in time"
