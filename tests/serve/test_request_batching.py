"""The queue in front of a translator."""

import threading
from collections.abc import Sequence

import pytest

from multihead.errors import UserError
from multihead.generation import Translation
from multihead.serve.batching import Batcher, BusyError
from multihead.settings import SearchSettings

PLAIN = SearchSettings()


class Slow:
    """Turns lines round; its first call lasts until it is let go. Remembers its batches."""

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


def test_what_comes_while_a_batch_is_searched_is_the_next_batch() -> None:
    slow = Slow()
    with Batcher(slow) as waiting:
        first = waiting.submit(["ab"], PLAIN)
        assert slow.began.wait(30)
        others = [waiting.submit([f"{n}x", f"{n}y"], PLAIN) for n in range(7)]
        slow.go.set()
        assert texts(first.result(30)) == ["ba"]
        assert [texts(one.result(30)) for one in others] == [[f"x{n}", f"y{n}"] for n in range(7)]
    assert [len(batch) for batch in slow.batches] == [1, 14]


def test_other_settings_and_too_many_lines_are_other_batches_in_their_order() -> None:
    slow = Slow()
    greedy = SearchSettings(method="greedy")
    with Batcher(slow, most_lines=3) as waiting:
        jobs = [waiting.submit(["0"], PLAIN)]
        assert slow.began.wait(30)
        asked = [
            (["1", "2"], PLAIN),
            (["3"], greedy),
            (["4"], PLAIN),
            (["5", "6", "7", "8"], PLAIN),
            (["9"], greedy),
        ]
        jobs += [waiting.submit(lines, settings) for lines, settings in asked]
        slow.go.set()
        for job in jobs:
            job.result(30)
    assert slow.batches == [("0",), ("1", "2", "4"), ("3", "9"), ("5", "6", "7", "8")]


def test_one_that_fails_does_not_take_the_others_with_it() -> None:
    slow = Slow()
    with Batcher(slow) as waiting:
        waiting.submit(["first"], PLAIN)
        assert slow.began.wait(30)
        good, bad, other = (waiting.submit([line], PLAIN) for line in ("good", "bad", "other"))
        slow.go.set()
        assert texts(good.result(30)) == ["doog"]
        with pytest.raises(UserError, match="a bad line"):
            bad.result(30)
        assert texts(other.result(30)) == ["rehto"]


def test_more_than_may_wait_is_refused_but_one_alone_never() -> None:
    slow = Slow()
    with Batcher(slow, most_waiting=5) as waiting:
        waiting.submit(["a"] * 9, PLAIN)
        assert slow.began.wait(30)
        waiting.submit(["b"] * 3, PLAIN)
        with pytest.raises(BusyError):
            waiting.submit(["c"] * 3, PLAIN)
        last = waiting.submit(["d"] * 2, PLAIN)
        slow.go.set()
    assert texts(last.result(0)) == ["d", "d"]
    with pytest.raises(BusyError):
        waiting.submit(["e"], PLAIN)


def test_what_nobody_waits_for_any_more_is_not_translated() -> None:
    slow = Slow()
    with Batcher(slow) as waiting:
        first = waiting.submit(["ab"], PLAIN)
        assert slow.began.wait(30)
        left, stays = waiting.submit(["left"], PLAIN), waiting.submit(["cd"], PLAIN)
        assert left.cancel()
        assert not first.cancel()
        slow.go.set()
        assert texts(stays.result(30)) == ["dc"]
        gone = waiting.submit(["gone"], PLAIN)
        gone.cancel()
        assert texts(waiting.submit(["ef"], PLAIN).result(30)) == ["fe"]
    assert ("left",) not in slow.batches
    assert slow.batches[1] == ("cd",)


def test_a_panic_is_told_and_the_others_are_answered() -> None:
    class Panic(BaseException):
        pass

    def translate(lines: Sequence[str], settings: SearchSettings) -> list[Translation]:
        if "bad" in lines:
            raise Panic
        return [Translation(line[::-1], line) for line in lines]

    with Batcher(translate) as waiting:
        with pytest.raises(Panic):
            waiting.submit(["bad"], PLAIN).result(30)
        assert texts(waiting.submit(["ab"], PLAIN).result(30)) == ["ba"]


def test_samples_are_drawn_alone_so_that_company_changes_nothing() -> None:
    slow, random = Slow(), SearchSettings(method="sample")
    with Batcher(slow) as waiting:
        jobs = [waiting.submit([line], random) for line in "abc"]
        slow.go.set()
        assert [texts(job.result(30)) for job in jobs] == [["a"], ["b"], ["c"]]
    assert slow.batches == [("a",), ("b",), ("c",)]
