"""Hostile documents of every format: those that are refused, and those that are read all the same."""

X1 = '<xliff version="1.2"><file source-language="de"><body>{}</body></file></xliff>'
X2 = '<xliff version="2.0" srcLang="de"><file id="f">{}</file></xliff>'
TMX = '{}<tmx version="1.4"><header srclang="de"/><body>{}</body></tmx>'
STRING = '<resources><string name="a">{}</string></resources>'
RESX = '<root><data name="a"><value>{}</value></data></root>'
QT = "<TS><context><message><source>{}</source><translation/></message></context></TS>"
CATALOGUE = '{{"sourceLanguage": "de", "strings": {}}}'
UNIT = '<trans-unit id="1"><source>{}</source></trans-unit>'
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
DEEP = 10_000

REFUSED: dict[str, tuple[str, bytes, str]] = {
    "a billion laughs": (
        "a.tmx",
        TMX.format(f'<!DOCTYPE tmx [<!ENTITY l0 "ha">{LAUGHS}]>', "<tu>&l9;</tu>").encode(),
        r"a\.tmx:1: declares an entity \(l0\)",
    ),
    "an external entity": (
        "a.xlf",
        (
            '<!DOCTYPE xliff [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + X1.format(UNIT.format("&x;"))
        ).encode(),
        "declares an entity",
    ),
    "an external parameter entity": (
        "a.xlf",
        ('<!DOCTYPE xliff [\n<!ENTITY % x SYSTEM "http://127.0.0.1:9/x">%x;]>' + X1.format("")).encode(),
        r"a\.xlf:2: declares an entity",
    ),
    "an unknown entity": (
        "a.tmx",
        TMX.format(
            '<!DOCTYPE tmx SYSTEM "tmx14.dtd">', '<tu><tuv xml:lang="de"><seg>&nbsp;</seg></tuv></tu>'
        ).encode(),
        "unknown entity &nbsp;",
    ),
    "elements that never close": ("a.xlf", b"<xliff version='1.2'>" + b"<g>" * DEEP, "not well-formed"),
    "crossing elements": ("a.xlf", X1.format(UNIT.format("<g>a<x></g></x>")).encode(), "mismatched tag"),
    "half a document": ("a.xlf", X1.encode()[:40], "not well-formed XML"),
    "latin-1 that says UTF-8": (
        "a.xlf",
        X1.format("\n" + UNIT.format("Grün")).encode("latin-1"),
        r"a\.xlf:2: not UTF-8 \(byte 0xFC at column 30\)",
    ),
    "latin-1 in a text": (
        "a.txt",
        "eins\nGrün".encode("latin-1"),
        r"a\.txt:2: not UTF-8 \(byte 0xFC at column 3\)",
    ),
    "an unknown encoding": ("a.tmx", b'<?xml version="1.0" encoding="martian"?><tmx/>', "encoding"),
    "an unknown charset": (
        "a.po",
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=martian\\n"\n',
        "martian",
    ),
    "a charset that loses bytes": (
        "a.po",
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-7\\n"\n',
        "utf-7",
    ),
    "a codec that is no text": (
        "a.po",
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=zlib\\n"\n',
        "zlib",
    ),
    "UTF-16 without a mark": ("a.txt", "eins\nzwei".encode("utf-16-le"), r"a\.txt:1: a NUL character"),
    "nothing": ("a.txt", b"", "empty"),
    "a page for a memory": (
        "a.tmx",
        b"<html><body>404</body></html>",
        "not a TMX file: it begins with <html>",
    ),
    "a PDF": ("a.txt", b"%PDF-1.7\n%\xe2\xe3", "a document of another kind"),
    "a variant without a language": (
        "a.tmx",
        TMX.format("", "<tu><tuv><seg>a</seg></tuv></tu>").encode(),
        "xml:lang",
    ),
    "a language that is not there": (
        "a.tmx",
        TMX.format("", '<tu><tuv xml:lang="fr"><seg>a</seg></tuv></tu>').encode(),
        "no segments in de. Name one of fr",
    ),
    "XLIFF of the future": ("a.xlf", b"<xliff version='9.9'/>", "version '9.9'"),
    "a string without an end": ("a.po", b'msgid "a\nmsgstr "b"\n', r"a\.po:1: not a line of a PO file"),
    "a translation of nothing": ("a.po", b'msgstr "b"\n', r"a\.po:1: msgstr where none belongs"),
    "a billion plural forms": ("a.po", b'msgid "a"\nmsgid_plural "b"\nmsgstr[999999999] "c"\n', "not a line"),
    "times that are none": ("a.srt", b"1\n00:00 bis 00:01\nHallo\n", r"a\.srt:2: no times of a subtitle"),
    "no WEBVTT": ("a.vtt", b"1\n00:00.000 --> 00:01.000\nHallo\n", r"a\.vtt:1: no WEBVTT"),
    "10,000 lists in one another": ("a.json", b"[" * DEEP + b"]" * DEEP, r"a\.json:1: more than 100 objects"),
    "half of a list": ("a.json", b'["a",\n', r"a\.json:2: not JSON \(a value is missing\)"),
    "JSON with comments": ("a.json", b'{"a": "b"} // c', r"a\.json:1: not JSON \(something behind its end\)"),
    "laughs in strings of Android": (
        "strings.xml",
        (f'<!DOCTYPE resources [<!ENTITY l0 "ha">{LAUGHS}]>' + STRING.format("&l9;")).encode(),
        r"strings\.xml:1: declares an entity \(l0\)",
    ),
    "a stranger's XML": (
        "pom.xml",
        b"<project><a/></project>",
        r"begins with <project>, not with <resources>",
    ),
    "an external entity of .NET": (
        "a.resx",
        ('<!DOCTYPE root [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + RESX.format("&x;")).encode(),
        "declares an entity",
    ),
    "a page for resources": ("a.resx", b"<html/>", "begins with <html>, not with <root>"),
    "TypeScript": ("a.ts", b"let a = 'b';", r"a\.ts:1: no translations of Qt Linguist"),
    "a film's transport stream": ("a.ts", b"G@\0\x10\0\0", r"a\.ts:1: no translations of Qt Linguist"),
    "laughs in Qt": (
        "a.ts",
        (f'<!DOCTYPE TS [<!ENTITY l0 "ha">{LAUGHS}]>' + QT).encode(),
        "declares an entity",
    ),
    "a table without an end": ("a.strings", b'"a" = "b', r"a\.strings:1: .*without closing quote"),
    "a compiled table": ("a.strings", b"bplist00\xd1", "a compiled table of strings"),
    "rules of laughs": ("a.stringsdict", b'<!DOCTYPE plist [<!ENTITY a "b">]><plist/>', "declares an entity"),
    "a catalogue of lists": (
        "a.xcstrings",
        CATALOGUE.format('{"a": ' + "[" * DEEP + "]" * DEEP + "}").encode(),
        "more than 100 objects and lists",
    ),
    "a catalogue without a language": ("a.xcstrings", b'{"strings": {}}', "no string catalogue"),
    "a string over two lines": ("a.json", b'["a\nb"]', r"not JSON \(invalid control character"),
}


def _gentle(text: str) -> str:
    return X1.format(UNIT.format(text))


ANSWERED: dict[str, tuple[str, str, list[str]]] = {
    "10,000 elements deep": ("a.xlf", _gentle("<g>" * DEEP + "a" + "</g>" * DEEP), ["a"]),
    "10,000 containers around units": (
        "a.xlf",
        X1.format("<group>" * DEEP + UNIT.format("a") + "</group>" * DEEP),
        ["a"],
    ),
    "10,000 codes inside one another": ("a.xlf", _gentle("b" + "<ph>" * DEEP + "c" + "</ph>" * DEEP), ["b"]),
    "10,000 tags of subtitles": ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n" + "<i>" * DEEP + "a", ["a"]),
    "only closing tags": ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "</i>" * DEEP + "a", ["a"]),
    "10,000 elements of a page": ("a.html", "<div>" * DEEP + "a" + "<b>" * 9 + "c" + "</div>" * DEEP, ["ac"]),
    "a page of halves": ("a.html", "<b>" * DEEP + "a" + "</i>" * DEEP + "<p translate=no><a>" * DEEP, ["a"]),
    "10,000 quotes": ("a.md", ">" * DEEP + " a\n\nb\n", ["b"]),
    "10,000 brackets": ("a.md", "[" * DEEP + "a", ["[" * DEEP + "a"]),
    "10,000 stars": ("a.md", "*a " * DEEP, ["*a " * (DEEP - 1) + "*a"]),
    "10,000 lists in a line": ("a.rst", "b\n\n" + "- " * DEEP + "a", ["b"]),
    "10,000 tables that never end": ("a.rst", "== ==\na b\n" * DEEP + "\nc", ["c"]),
    "1,000 headings, all named": (
        "a.md",
        "".join(f"# h{n}\n\n[b](#h{n}) c\n\n" for n in range(1000)),
        [text for n in range(1000) for text in (f"h{n}", "b c")],
    ),
    "a literal of a million letters": ("a.rst", f"a ``{'b' * 10**6}`` c", ["a  c"]),
    "1,000 tables": ("a.rst", "== ==\na  b\n== ==\nc  d\n== ==\n\n" * 1000, [*"abcd"] * 1000),
    "a grid of 10,000 rows": ("a.rst", "+---+\n" + "| a |\n+---+\n" * DEEP, ["a"] * DEEP),
    "10,000 stars that never close": ("a.rst", "*a " * DEEP + "b", ["*a " * DEEP + "b"]),
    "10,000 groups": ("a.tex", "{" * DEEP + "a" + "}" * DEEP, ["a"]),
    "10,000 groups that never close": ("a.tex", "{" * DEEP + "a", ["a"]),
    "10,000 footnotes of footnotes": ("a.tex", "\\footnote{a" * DEEP + "}" * DEEP, ["a"] * 20),
    "10,000 lists": ("a.tex", "\\begin{itemize}" * DEEP + "a" + "\\end{itemize}" * DEEP, ["a"]),
    "a rule that divides by nothing": (
        "a.po",
        'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=1/(n-n);\\n"\nmsgid "a"\nmsgid_plural "b"\n'
        'msgstr[0] ""\nmsgstr[1] ""\n',
        ["a", "b"],
    ),
    "a rule that imports": (
        "a.po",
        'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=__import__(1);\\n"\nmsgid "a"\nmsgid_plural "b"\n'
        'msgstr[0] ""\nmsgstr[1] ""\n',
        ["a", "b"],
    ),
    "10,000 styles of Android": ("strings.xml", STRING.format("<b>" * DEEP + "a" + "</b>" * DEEP), ["a"]),
    "10,000 escapes": ("strings.xml", STRING.format("a" + "\\'" * DEEP), ["a" + "'" * DEEP]),
    "10,000 quotes of Android": ("strings.xml", STRING.format('"a' * DEEP), ["a" * DEEP]),
    "10,000 elements of .NET": ("a.resx", RESX.format("a" + "<b>" * DEEP + "c" + "</b>" * DEEP), ["a"]),
    "10,000 elements of Qt": ("a.ts", QT.format("a" + "<b>" * DEEP + "c" + "</b>" * DEEP), ["a"]),
    "10,000 dictionaries": (
        "a.stringsdict",
        f"<plist>{'<dict><key>other</key>' * DEEP}<string>a</string>{'</dict>' * DEEP}</plist>",
        [],
    ),
    "10,000 comments": ("a.strings", "/* */" * DEEP + '"a" = "b";', ["b"]),
    "a DTD far away": (
        "a.tmx",
        TMX.format(
            '<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/x.dtd">', '<tu><tuv lang="de"><seg>a</seg></tuv></tu>'
        ),
        ["a"],
    ),
}
