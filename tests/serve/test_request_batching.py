"""Dynamic batching in front of a translator."""

import threading
from collections.abc import Sequence

import pytest

from multihead.errors import UserError
from multihead.generation import Translation
from multihead.serve.batching import Batcher, BusyError
from multihead.settings import SearchSettings

PLAIN = SearchSettings()


class Slow:
    """Translator that reverses lines and records its batches; its first call blocks until released."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, ...]] = []
        self.began, self.go = threading.Event(), threading.Event()

    def __call__(self, lines: Sequence[str], settings: SearchSettings) -> list[Translation]:
        self.batches.append(tuple(lines))
        self.began.set()
        assert self.go.wait(30)
        if "bad" in lines:
            raise UserError("a bad line")
        return [Translation(line[::-1], line) for line in lines]


def texts(found: Sequence[Translation]) -> list[str]:
    return [one.text for one in found]


def test_requests_during_a_batch_form_the_next_batch() -> None:
    slow = Slow()
    with Batcher(slow) as batcher:
        first = batcher.submit(["ab"], PLAIN)
        assert slow.began.wait(30)
        others = [batcher.submit([f"{n}x", f"{n}y"], PLAIN) for n in range(7)]
        slow.go.set()
        assert texts(first.result(30)) == ["ba"]
        assert [texts(one.result(30)) for one in others] == [[f"x{n}", f"y{n}"] for n in range(7)]
    assert [len(batch) for batch in slow.batches] == [1, 14]


def test_other_settings_or_too_many_lines_start_another_batch() -> None:
    slow = Slow()
    greedy = SearchSettings(method="greedy")
    with Batcher(slow, max_lines=3) as batcher:
        jobs = [batcher.submit(["0"], PLAIN)]
        assert slow.began.wait(30)
        requests = [
            (["1", "2"], PLAIN),
            (["3"], greedy),
            (["4"], PLAIN),
            (["5", "6", "7", "8"], PLAIN),
            (["9"], greedy),
        ]
        jobs += [batcher.submit(lines, settings) for lines, settings in requests]
        slow.go.set()
        for job in jobs:
            job.result(30)
    assert slow.batches == [("0",), ("1", "2", "4"), ("3", "9"), ("5", "6", "7", "8")]


def test_a_failing_request_does_not_affect_the_others() -> None:
    slow = Slow()
    with Batcher(slow) as batcher:
        batcher.submit(["first"], PLAIN)
        assert slow.began.wait(30)
        good, bad, other = (batcher.submit([line], PLAIN) for line in ("good", "bad", "other"))
        slow.go.set()
        assert texts(good.result(30)) == ["doog"]
        with pytest.raises(UserError, match="a bad line"):
            bad.result(30)
        assert texts(other.result(30)) == ["rehto"]


def test_a_full_queue_refuses_requests_but_never_the_only_one() -> None:
    slow = Slow()
    with Batcher(slow, max_waiting=5) as batcher:
        batcher.submit(["a"] * 9, PLAIN)
        assert slow.began.wait(30)
        batcher.submit(["b"] * 3, PLAIN)
        with pytest.raises(BusyError):
            batcher.submit(["c"] * 3, PLAIN)
        last = batcher.submit(["d"] * 2, PLAIN)
        slow.go.set()
    assert texts(last.result(0)) == ["d", "d"]
    with pytest.raises(BusyError):
        batcher.submit(["e"], PLAIN)


def test_cancelled_requests_are_not_translated() -> None:
    slow = Slow()
    with Batcher(slow) as batcher:
        first = batcher.submit(["ab"], PLAIN)
        assert slow.began.wait(30)
        left, stays = batcher.submit(["left"], PLAIN), batcher.submit(["cd"], PLAIN)
        assert left.cancel()
        assert not first.cancel()
        slow.go.set()
        assert texts(stays.result(30)) == ["dc"]
        gone = batcher.submit(["gone"], PLAIN)
        gone.cancel()
        assert texts(batcher.submit(["ef"], PLAIN).result(30)) == ["fe"]
    assert ("left",) not in slow.batches
    assert slow.batches[1] == ("cd",)


def test_any_exception_reaches_its_request_and_the_thread_survives() -> None:
    class Panic(BaseException):
        pass

    def translate(lines: Sequence[str], settings: SearchSettings) -> list[Translation]:
        if "bad" in lines:
            raise Panic
        return [Translation(line[::-1], line) for line in lines]

    with Batcher(translate) as batcher:
        with pytest.raises(Panic):
            batcher.submit(["bad"], PLAIN).result(30)
        assert texts(batcher.submit(["ab"], PLAIN).result(30)) == ["ba"]


def test_sampling_requests_are_never_batched_together() -> None:
    slow, random = Slow(), SearchSettings(method="sample")
    with Batcher(slow) as batcher:
        jobs = [batcher.submit([line], random) for line in "abc"]
        slow.go.set()
        assert [texts(job.result(30)) for job in jobs] == [["a"], ["b"], ["c"]]
    assert slow.batches == [("a",), ("b",), ("c",)]
