"""How work that takes a while says how far it is; who calls it may show that, or not."""

from collections.abc import Callable

OnProgress = Callable[[str, int, int | None], None]
"""(what is done, how much of it, of how much if that is known)"""
OnCount = Callable[[int, int | None], None]
"""(how much is done, of how much if that is known)"""
