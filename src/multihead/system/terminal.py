"""Protection of the terminal from control characters in untrusted text."""


def escape_unprintable(text: str, keep: str = "") -> str:
    r"""Escape unprintable characters, except those in ``keep``.

    >>> escape_unprintable("a\x1b[2Jb\n", keep="\n")
    'a\\x1b[2Jb\n'
    """
    return "".join(char if char.isprintable() or char in keep else f"\\x{ord(char):02x}" for char in text)
