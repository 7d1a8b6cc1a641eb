"""Elements and attributes of HTML: which are part of a sentence, which hold no text for a translator."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCKS = _words(
    """
    address article aside audio base blockquote body button canvas caption center col colgroup dd details
    dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header
    hgroup hr html iframe label legend li link main menu meta nav noembed noframes noscript object ol optgroup
    option p param plaintext pre script search section select source style summary table tbody td template
    textarea tfoot th thead title tr track ul video xmp
    """
)
"""Elements that begin and end a paragraph; all others are part of it."""

VOID = _words("area base br col embed hr img input link meta param source track wbr")
"""Elements without content or end tag."""

UNTRANSLATED = _words("code kbd math noembed noframes pre samp script style svg textarea tt var xmp")
"""Elements of which nothing is translated."""

ATTRIBUTES = _words("alt aria-label aria-description placeholder title")
"""Attributes that are read by people, of any element."""

ELEMENT_ATTRIBUTES = {"optgroup": "label", "option": "label", "track": "label", "table": "summary"}
"""Other ones, of one element."""

BUTTONS = _words("submit button reset")
"""Types of ``<input>`` whose ``value`` is shown."""

META = _words(
    """
    description og:title og:description og:image:alt twitter:title twitter:description twitter:image:alt
    apple-mobile-web-app-title
    """
)
"""Names or properties of ``<meta>`` whose ``content`` is shown."""

CHARSETS = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-9": "cp1254",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "utf-16": "utf-8",
    "utf-16le": "utf-8",
    "utf-16be": "utf-8",
}
"""Encodings that browsers take for what a page declares (Encoding Standard, sec. 4.2)."""
