"""Types of progress callbacks."""

from collections.abc import Callable

OnProgress = Callable[[str, int, int | None], None]
"""(description, done, total or None)"""
OnCount = Callable[[int, int | None], None]
"""(done, total or None)"""
