"""The fair queue in front of the translators."""

import threading
import time
from collections.abc import Sequence

import pytest

from multihead.apps.serve.fair_queue import NOTHING, BusyError, DeadlineError, FairQueue, Forced, Work
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.search.request import check_wanted
from multihead.tasks.translation.lines import Translation

PLAIN = SearchSettings()


class Slow:
    """Translator that reverses lines and records its batches; its first call blocks until released."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, ...]] = []
        self.began, self.go = threading.Event(), threading.Event()

    def __call__(
        self, lines: Sequence[str], settings: SearchSettings, forced: Sequence[Forced] | None = None
    ) -> list[Translation]:
        self.batches.append(tuple(lines))
        self.began.set()
        assert self.go.wait(30)
        if "bad" in lines:
            raise UserError("a bad line")
        begun = forced or [NOTHING] * len(lines)
        pairs = zip(begun, lines, strict=True)
        return [Translation(f"{start}{line[::-1]}", line) for (start, _), line in pairs]


def texts(found: Sequence[Translation]) -> list[str]:
    return [one.text for one in found]


def test_requests_during_a_batch_share_the_next_one() -> None:
    slow = Slow()
    with FairQueue() as queue:
        first = queue.submit(Work(slow, ["ab"], PLAIN))
        assert slow.began.wait(30)
        others = [queue.submit(Work(slow, [f"{n}x", f"{n}y"], PLAIN, f"client {n % 3}")) for n in range(7)]
        slow.go.set()
        assert texts(first.result(30)) == ["ba"]
        assert [texts(one.result(30)) for one in others] == [[f"x{n}", f"y{n}"] for n in range(7)]
    assert [len(batch) for batch in slow.batches] == [1, 14]


def test_a_batch_takes_a_line_of_each_client_in_turn() -> None:
    slow = Slow()
    with FairQueue() as queue:
        queue.submit(Work(slow, ["first"], PLAIN))
        assert slow.began.wait(30)
        long = [f"{n:04}" * 20 for n in range(300)]
        large = queue.submit(Work(slow, long, PLAIN, "large"))
        small = queue.submit(Work(slow, ["s1", "s2"], PLAIN, "small"))
        also = queue.submit(Work(slow, ["t1"], PLAIN, "small"))
        slow.go.set()
        assert texts(small.result(30)) == ["1s", "2s"]
        assert texts(also.result(30)) == ["1t"]
        assert texts(large.result(30)) == [line[::-1] for line in long]
    second = slow.batches[1]
    assert {"s1", "s2", "t1"} < set(second)
    assert len(second) < 100, "a large request is translated in pieces"


def test_other_settings_and_other_models_are_other_batches() -> None:
    slow, other = Slow(), Slow()
    greedy = SearchSettings(method="greedy")
    with FairQueue() as queue:
        queue.submit(Work(slow, ["0"], PLAIN))
        assert slow.began.wait(30)
        works = [
            Work(slow, ["1", "2"], PLAIN, "a"),
            Work(slow, ["3"], greedy, "b"),
            Work(slow, ["4"], PLAIN, "c"),
            Work(other, ["5"], PLAIN, "d"),
        ]
        jobs = [queue.submit(work) for work in works]
        slow.go.set()
        other.go.set()
        for job in jobs:
            job.result(30)
    assert slow.batches == [("0",), ("1", "2", "4"), ("3",)]
    assert other.batches == [("5",)]


def test_equal_keys_share_batches_whatever_their_functions() -> None:
    slow = Slow()
    with FairQueue() as queue:
        queue.submit(Work(slow, ["0"], PLAIN))
        assert slow.began.wait(30)
        jobs = [
            queue.submit(Work(lambda *given: slow(*given), [line], PLAIN, line, key="same")) for line in "ab"
        ]
        slow.go.set()
        assert [texts(job.result(30)) for job in jobs] == [["a"], ["b"]]
    assert slow.batches == [("0",), ("a", "b")]


def test_what_is_forced_stays_with_its_line() -> None:
    slow = Slow()
    slow.go.set()
    with FairQueue() as queue:
        one = queue.submit(Work(slow, ["ab", "cd"], PLAIN, "x", forced=[("<", ()), (">", ())]))
        two = queue.submit(Work(slow, ["ef"], PLAIN, "y"))
        assert (texts(one.result(30)), texts(two.result(30))) == (["<ba", ">dc"], ["fe"])


def test_a_failing_request_does_not_affect_the_others() -> None:
    slow = Slow()
    with FairQueue() as queue:
        queue.submit(Work(slow, ["first"], PLAIN))
        assert slow.began.wait(30)
        good, bad, other = (
            queue.submit(Work(slow, [line], PLAIN, line)) for line in ("good", "bad", "other")
        )
        slow.go.set()
        assert texts(good.result(30)) == ["doog"]
        with pytest.raises(UserError, match="a bad line"):
            bad.result(30)
        assert texts(other.result(30)) == ["rehto"]


def test_a_full_queue_refuses_requests_but_never_the_only_one() -> None:
    slow = Slow()
    with FairQueue(max_waiting=5) as queue:
        queue.submit(Work(slow, ["a"], PLAIN))
        assert slow.began.wait(30)
        queue.submit(Work(slow, ["b"] * 9, PLAIN))
        with pytest.raises(BusyError):
            queue.submit(Work(slow, ["c"], PLAIN))
        slow.go.set()
    with pytest.raises(BusyError):
        queue.submit(Work(slow, ["e"], PLAIN))


def test_cancelled_requests_are_not_translated_even_in_the_middle() -> None:
    slow = Slow()
    with FairQueue() as queue:
        first = queue.submit(Work(slow, ["x" * 900, *(f"{n}" * 900 for n in range(9))], PLAIN, "large"))
        assert slow.began.wait(30)
        left, stays = (queue.submit(Work(slow, [line], PLAIN, line)) for line in ("left", "cd"))
        assert left.cancel()
        assert first.cancel()
        slow.go.set()
        assert texts(stays.result(30)) == ["dc"]
    assert ("left",) not in slow.batches
    assert len(slow.batches) == 2


def test_a_deadline_ends_a_request_that_waits_and_a_search_that_runs() -> None:
    stopped = threading.Event()

    def endless(
        lines: Sequence[str], settings: SearchSettings, forced: Sequence[Forced] | None
    ) -> list[Translation]:
        try:
            while True:
                time.sleep(0.005)
                check_wanted()
        finally:
            stopped.set()

    slow = Slow()
    slow.go.set()
    with FairQueue() as queue:
        running = queue.submit(Work(endless, ["a"], PLAIN, deadline=time.monotonic() + 0.2))
        waiting = queue.submit(Work(slow, ["b"], PLAIN, "b", deadline=time.monotonic() + 0.1))
        later = queue.submit(Work(slow, ["cd"], PLAIN, "c"))
        for job in (running, waiting):
            with pytest.raises(DeadlineError):
                job.result(30)
        assert texts(later.result(30)) == ["dc"]
    assert stopped.is_set()


def test_a_search_stops_when_all_of_its_clients_have_left() -> None:
    began = threading.Event()

    def endless(
        lines: Sequence[str], settings: SearchSettings, forced: Sequence[Forced] | None
    ) -> list[Translation]:
        began.set()
        while True:
            time.sleep(0.005)
            check_wanted()

    with FairQueue() as queue:
        job = queue.submit(Work(endless, ["a"], PLAIN))
        assert began.wait(30)
        assert job.cancel()
        slow = Slow()
        slow.go.set()
        assert texts(queue.submit(Work(slow, ["ab"], PLAIN)).result(30)) == ["ba"]


def test_any_exception_reaches_its_request_and_the_thread_survives() -> None:
    class Panic(BaseException):
        pass

    def panicking(
        lines: Sequence[str], settings: SearchSettings, forced: Sequence[Forced] | None
    ) -> list[Translation]:
        if "bad" in lines:
            raise Panic
        return [Translation(line[::-1], line) for line in lines]

    with FairQueue() as queue:
        with pytest.raises(Panic):
            queue.submit(Work(panicking, ["bad"], PLAIN)).result(30)
        assert texts(queue.submit(Work(panicking, ["ab"], PLAIN)).result(30)) == ["ba"]


def test_sampled_requests_are_translated_whole_and_alone() -> None:
    slow, random = Slow(), SearchSettings(method="sample")
    with FairQueue() as queue:
        queue.submit(Work(slow, ["0"], PLAIN))
        assert slow.began.wait(30)
        jobs = [queue.submit(Work(slow, [line, line], random, line)) for line in "abc"]
        slow.go.set()
        assert [texts(job.result(30)) for job in jobs] == [["a", "a"], ["b", "b"], ["c", "c"]]
    assert slow.batches[1:] == [("a", "a"), ("b", "b"), ("c", "c")]


def test_the_size_of_batches_follows_the_speed_of_the_translator() -> None:
    sizes = []

    def steady(
        lines: Sequence[str], settings: SearchSettings, forced: Sequence[Forced] | None
    ) -> list[Translation]:
        sizes.append(len(lines))
        time.sleep(0.02 * len(lines))
        return [Translation(line, line) for line in lines]

    with FairQueue() as queue:
        queue.submit(Work(steady, ["x" * 84] * 100, PLAIN.model_copy(update={"method": "greedy"}))).result(30)
    assert max(sizes[1:-1]) <= 30, "a batch takes about 0.25 s"
    assert sum(sizes) == 100
