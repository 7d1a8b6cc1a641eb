"""English names of languages by ISO 639 code, for display in clients."""

_NAMES = """
ar Arabic, az Azerbaijani, bg Bulgarian, bn Bengali, ca Catalan, cs Czech, da Danish, de German, el Greek,
en English, eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish,
gl Galician, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian, is Icelandic,
it Italian, ja Japanese, ka Georgian, kk Kazakh, ko Korean, la Latin, lt Lithuanian, lv Latvian,
mk Macedonian, mn Mongolian, ms Malay, nb Norwegian, nl Dutch, no Norwegian, pl Polish, pt Portuguese,
ro Romanian, ru Russian, sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil,
th Thai, tl Tagalog, tr Turkish, uk Ukrainian, ur Urdu, vi Vietnamese, zh Chinese
"""
NAMES = dict(each.split() for each in _NAMES.split(","))


def name(code: str) -> str:
    """Return the English name of a language, or its code if the name is not in the table.

    >>> name("de"), name("x-klingon")
    ('German', 'x-klingon')
    """
    return NAMES.get(code, code)
