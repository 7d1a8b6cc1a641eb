"""The routes, over a socket, before a translator that turns lines round."""

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
from multihead.serve.app import MOST_WAITING, _unless_gone, application
from multihead.serve.batching import Batcher
from multihead.serve.request import Question
from multihead.serve.service import Answer, Direction, Service
from multihead.settings import SearchSettings


def turned(lines: Sequence[str], settings: SearchSettings) -> list[Translation]:
    """Each line turned round, then in capitals, then in small letters: as many as are wanted."""
    if "broken" in lines:
        raise UserError("scores are no numbers")
    found = []
    for line in lines:
        if len(line) > 20:
            found.append(Translation("", line, note="too long"))
            continue
        variants = [line[::-1], line[::-1].upper(), line[::-1].lower()][: settings.n_best]
        outputs = tuple(Output(text, (), 0.0, 0.0, cut=False) for text in variants) if line else ()
        found.append(Translation(line[::-1], line, outputs, note="cut" if line == "cut" else None))
    return found


GO_ON = threading.Event()


def looked_into(run: str, sentence: str) -> str:
    if sentence == "_":
        raise UserError("there is no word to look at")
    if sentence == "slow":
        assert GO_ON.wait(30)
    return f"<p>{run}: {len(sentence)}"


@contextmanager
def directions(*pairs: tuple[str, str]) -> Iterator[list[Direction]]:
    with Batcher(turned) as waiting:
        yield [Direction(f"runs/{a}-{b}", a, b, waiting, SearchSettings()) for a, b in pairs]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a server for German to English and French."""
    with (
        directions(("de", "en"), ("de", "fr")) as served,
        closing(socket.create_server(("127.0.0.1", 0))) as at,
    ):
        app = application(
            Service(served),
            looked_into,
            most_chars=50,
            origin="https://a.b",
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [at]})
        thread.start()
        yield f"http://127.0.0.1:{at.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def ask(url: str, body: bytes | None = None, kind: str = "application/json") -> tuple[int, str]:
    """Return the status and the body of an answer."""
    request = urllib.request.Request(url, body, {"Content-Type": kind, "Origin": "https://a.b"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.headers["access-control-allow-origin"] == "https://a.b"
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def translate(address: str, **asked: object) -> tuple[int, dict[str, object]]:
    status, told = ask(f"{address}/translate", json.dumps(asked).encode())
    return status, json.loads(told)


def test_a_text_is_answered_with_a_text_and_a_list_with_a_list(address: str) -> None:
    assert translate(address, q="abc", source="de", target="en") == (200, {"translatedText": "cba"})
    assert translate(address, q=["ab", "", "x\r\n\ny z"]) == (200, {"translatedText": ["ba", "", "x\n\nz y"]})
    assert translate(address, q=[]) == (200, {"translatedText": []})


def test_a_form_is_read_too(address: str) -> None:
    kind = "application/x-www-form-urlencoded; charset=utf-8"
    assert json.loads(ask(f"{address}/translate", "q=ä+%C3%B6".encode(), kind)[1]) == {
        "translatedText": "ö ä"
    }
    assert json.loads(ask(f"{address}/translate", b' {"q": "ab"}', kind)[1]) == {"translatedText": "ba"}
    status, told = ask(f"{address}/translate", b"--x", "multipart/form-data; boundary=x")
    assert (status, "send JSON, or a form" in told) == (415, True)
    status, told = ask(f"{address}/translate", b"q=%ff", kind)
    assert status == 400
    assert "not UTF-8" in told


def test_alternatives_are_the_next_best_of_each_line(address: str) -> None:
    told = {"translatedText": "bA\n\nc", "alternatives": ["BA\n\nC", "ba\n\nc"]}
    assert translate(address, q="Ab\n\nc", alternatives=2) == (200, told)
    assert translate(address, q=["a"], alternatives=1)[1]["alternatives"] == [["A"]]


def test_what_is_cut_is_said_and_what_is_not_translated_is_refused(address: str) -> None:
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
        (b'{"q": "a", "source": "\\ud800"}', 400, "no language's code"),
        (b'{"q": "a", "target": "ko"}', 400, "there is de to en, de to fr"),
        (b'{"q": "broken"}', 500, "scores are no numbers"),
    ],
)
def test_what_cannot_be_answered_says_why(address: str, body: bytes, status: int, fact: str) -> None:
    code, told = ask(f"{address}/translate", body)
    assert code == status
    assert fact in json.loads(told)["error"]


def test_languages_health_the_page_and_the_look_inside(address: str) -> None:
    languages = json.loads(ask(f"{address}/languages")[1])
    assert languages == [{"code": "de", "name": "German", "targets": ["en", "fr"]}]
    assert json.loads(ask(f"{address}/health")[1]) == {"status": "ok"}
    assert "<textarea" in ask(f"{address}/")[1]
    assert ask(f"{address}/inspect?q=Guten%20Tag&target=fr") == (200, "<p>runs/de-fr: 9")
    assert ask(f"{address}/inspect?q=")[0] == 400
    assert ask(f"{address}/inspect?q=_") == (400, '{"error":"there is no word to look at"}')
    assert ask(f"{address}/inspect?q={'a' * 501}")[0] == 400
    assert ask(f"{address}/nothing")[0] == 404
    assert json.loads(ask(f"{address}/nothing")[1]) == {"error": "there is no /nothing here"}
    assert json.loads(ask(f"{address}/translate")[1]) == {"error": "GET is not for /translate"}


def test_only_so_many_sentences_wait_to_be_looked_into(address: str) -> None:
    with ThreadPoolExecutor(MOST_WAITING + 3) as pool:
        asked = [pool.submit(ask, f"{address}/inspect?q=slow&target=fr") for _ in range(MOST_WAITING + 3)]
        answers = as_completed(asked, timeout=30)
        assert [next(answers).result()[0] for _ in range(3)] == [503] * 3
        GO_ON.set()
        assert [one.result()[0] for one in answers] == [200] * MOST_WAITING
    assert ask(f"{address}/inspect?q=Tag&target=fr")[0] == 200


def test_two_of_the_same_languages_are_refused() -> None:
    with directions(("de", "en"), ("de", "en")) as (one, other):
        again = Direction("runs/other", "de", "en", other.waiting, other.settings)
        with pytest.raises(UserError, match="runs/de-en and runs/other both translate from de to en"):
            Service([one, again])


def test_a_full_queue_says_when_to_come_again() -> None:
    with directions(("de", "en")) as (one,):
        pass
    with pytest.raises(Exception, match="too many requests") as told:
        asyncio.run(Service([one]).answer(Question(["a"], one=True)))
    assert told.value.status == 503  # type: ignore[attr-defined]


def test_answers_keep_their_texts_apart() -> None:
    with directions(("de", "en")) as served:
        found = asyncio.run(Service(served).answer(Question(["a\nbc", "", "def"], one=False)))
    assert found == Answer(["a\ncb", "", "fed"], [[], [], []], [])


def test_what_nobody_waits_for_any_more_is_given_up() -> None:
    class Gone:
        async def is_disconnected(self) -> bool:
            return True

    async def slow() -> str:
        await asyncio.sleep(60)
        return "late"

    async def fast() -> str:
        return "in time"

    with pytest.raises(ClientDisconnect):
        asyncio.run(_unless_gone(cast(Request, Gone()), slow()))
    assert asyncio.run(_unless_gone(cast(Request, Gone()), fast())) == "in time"
