"""What a loaded run says when it is asked for what another kind of run does."""

from typing import TYPE_CHECKING


class Offering:
    """Names its public methods where one is asked for that it has not."""

    # Not for type checkers, to whom every attribute would be there.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            kind = type(self)
            if name.startswith("_"):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            methods = [
                each for each in dir(kind) if not each.startswith("_") and callable(getattr(kind, each))
            ]
            offered = ", ".join(f"{each}()" for each in methods if each != "load")
            raise AttributeError(f"a {kind.__name__} has no {name!r}; it offers {offered}")
