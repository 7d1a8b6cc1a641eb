"""What is printed comes from files of anybody, and shall not command the terminal."""


def harmless(text: str, keep: str = "") -> str:
    r"""Return a text with what is not printable written out, but for the characters to keep.

    >>> harmless("a\x1b[2Jb\n", keep="\n")
    'a\\x1b[2Jb\n'
    """
    return "".join(char if char.isprintable() or char in keep else f"\\x{ord(char):02x}" for char in text)
