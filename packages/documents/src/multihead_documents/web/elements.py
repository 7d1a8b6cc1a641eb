"""Classification of HTML elements and attributes: block, void, untranslated, human-readable."""


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
"""Block elements, which delimit paragraphs; all others are inline."""

VOID = _words("area base br col embed hr img input link meta param source track wbr")
"""Void elements, without content or end tag."""

UNTRANSLATED = _words("code kbd math noembed noframes pre samp script style svg textarea tt var xmp")
"""Elements whose content is not translated."""

ATTRIBUTES = _words("alt aria-label aria-description placeholder title")
"""Human-readable attributes of any element."""

ELEMENT_ATTRIBUTES = {"optgroup": "label", "option": "label", "track": "label", "table": "summary"}
"""Human-readable attributes of one element."""

BUTTONS = _words("submit button reset")
"""Types of ``<input>`` with a visible ``value``."""

META = _words(
    """
    description og:title og:description og:image:alt twitter:title twitter:description twitter:image:alt
    apple-mobile-web-app-title
    """
)
"""Names or properties of ``<meta>`` with human-readable ``content``."""

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
"""Encoding that browsers use for a declared label (Encoding Standard, sec. 4.2)."""
