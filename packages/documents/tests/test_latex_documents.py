"""LaTeX: sentences are found with their commands, and what is written is read as it was meant."""

import re
from pathlib import Path

import pytest
from document_samples import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from marked_targets import filled

from multihead_documents import Document, Markup, carry, open_document, repair
from multihead_documents.latex.tokens import Tokens

PAPER = samples()["paper.tex"].decode()
CHAPTER = r"""% !TeX root = thesis.tex
\chapter[Stand]{Stand der Technik}
\label{chap:stand}
\epigraph{Wer misst, misst Mist.}{Volksmund}
Was \textcite{muster} \enquote{Aufmerksamkeit} nennt,\footnote{Ein Absatz.

Noch einer.} ist alt \parencite[vgl.][12--15]{alt}.

\begin{description}
\item[Kodierer:] liest, und
\item[Dekodierer:] schreibt \ldots\ Wörter.
\end{description}
\begin{lstlisting}[language=Python]
print("{") # \section{nicht}
\end{lstlisting}
\input{kapitel/messung}
Zeile eins\\
Zeile zwei und {\itshape schräge\/} Schrift.
"""
TALK = r"""\documentclass[aspectratio=169]{beamer}
\title{Ein Vortrag}
\author{A. Muster}
\begin{document}
\begin{frame}[fragile]{Erste Folie}{Untertitel}
  \begin{itemize}[<+->]
    \item<1-> Punkt \alert<2>{eins}
    \item Zwei \only<3>{nur hier}
  \end{itemize}
  \begin{verbatim}
  \frametitle{nicht}
  \end{verbatim}
\end{frame}
\begin{frame}
  \frametitle<1>{Zweite Folie}
  \begin{block}{Satz}
    Text $x$. \pause Mehr Text.
  \end{block}
  \begin{tikzpicture}\node {nicht};\end{tikzpicture}
\end{frame}
\end{document}
"""


def opened(folder: Path, text: str, source: str | None = None, target: str | None = None) -> Document:
    (folder / "a.tex").write_bytes(text.encode())
    return open_document(folder / "a.tex", source_language=source, target_language=target)


def rendered(folder: Path, text: str, *targets: str) -> str:
    return filled(opened(folder, text), *targets)


def found(folder: Path, text: str) -> list[str]:
    return [str(segment.source) for segment in opened(folder, text).segments]


def test_sentences_of_a_paper_are_found(tmp_path: Path) -> None:
    assert found(tmp_path, PAPER) == [
        "Satz",
        "Kurz",
        "Aufmerksamkeit ist alles",
        "Gefördert von niemandem.",
        "Wir zeigen, dass {1}Aufmerksamkeit{/1} für die Übersetzung genügt. {2/}Der Code liegt auf {3/}.",
        "Einleitung",
        "Frühere Arbeiten\xa0{1/} brauchten „Rekurrenz“ — wir nicht: {2/} erreicht 28,4\xa0BLEU{3/} bei "
        "50\u202f% der Kosten von {4}unserem {5}letzten{/5} System{/4}. Die Gewichte sind {6/} mit {7/} als "
        "Zustand und {8/} als Kodierung. Es gilt",
        "Gemessen mit {1/}, siehe §\xa0{2/}.",
        "Was wir beitragen",
        "Ein Modell {1}ohne{/1} Rekurrenz,",
        "Zweitens",
        "eine Messung; und",
        "{1/} Kleinigkeiten.",
        "Hauptsatz",
        "Jede Folge der Länge\xa0{1/} hat {2/} Paare.",
        "Nachzählen, vgl. Abb.\xa0{1/}.",
        "Ein Absatz, den eine Abbildung {1/} unterbricht, geht weiter.",
        "Modell",
        "Das Modell. Links der Kodierer, rechts der {1}Dekodierer{/1}.",
        "Ergebnisse auf WMT",
        "Modell",
        "BLEU",
        "Kosten in $",
        "Ohne alles",
        "Mit {1/}",
        "hoch",
        "Danke an {1}alle{/1}, die {2/} verstehen: Straße, ça, naïve, Łódź. {3/} auch.",
        "Klein und",
        "kleiner.",
    ]


def test_sentences_of_a_chapter_are_found(tmp_path: Path) -> None:
    assert found(tmp_path, CHAPTER) == [
        "Stand",
        "Stand der Technik",
        "Wer misst, misst Mist.",
        "Volksmund",
        "Was {1/} {2}Aufmerksamkeit{/2} nennt,{3/} ist alt {4/}.",
        "Ein Absatz.",
        "Noch einer.",
        "Kodierer:",
        "liest, und",
        "Dekodierer:",
        "schreibt … Wörter.",
        "Zeile eins{1/} Zeile zwei und {2}schräge{/2} Schrift.",
    ]


def test_sentences_of_a_talk_are_found(tmp_path: Path) -> None:
    assert found(tmp_path, TALK) == [
        "Ein Vortrag",
        "Erste Folie",
        "Untertitel",
        "Punkt {1}eins{/1}",
        "Zwei {1}nur hier{/1}",
        "Zweite Folie",
        "Satz",
        "Text {1/}.",
        "Mehr Text.",
    ]


@pytest.mark.parametrize("text", [CHAPTER, TALK, CHAPTER.replace("\n", "\r\n"), TALK.replace("\n", "\r")])
def test_nothing_translated_gives_the_same_bytes(text: str, tmp_path: Path) -> None:
    document = opened(tmp_path, text)
    assert document.render({}) == text.encode()
    again = document.render({segment.number: segment.source for segment in document.segments}).decode()
    assert found(tmp_path, again) == [str(segment.source) for segment in document.segments]


@pytest.mark.parametrize(
    ("source", "targets", "expected"),
    [
        (
            "a\n",
            ["50 % & $5 #1 x_y {z} \\ ~ ^"],
            r"50 \% \& \$5 \#1 x\_y \{z\} \textbackslash{} \textasciitilde{}",
        ),
        ("a\nb\n\nc\n", ["x", "y"], "x\n\ny\n"),
        ("a\n", ["[x] y"], "{[}x] y\n"),
        ("a\n", ["x -- y—z – 'q' “r”"], "x -{}- y---z -- 'q' ``r''\n"),
        ("a\n", ['"x"'], "\\symbol{34}x\\symbol{34}\n"),
        ("\\documentclass{a}\\begin{document}a", ['"x"'], '\\documentclass{a}\\begin{document}"x"'),
        ("\\section*{a}\\label{k}\nb", ["x}", "y"], "\\section*{x\\}}\\label{k}\ny"),
        ("\\section[a]{b}", ["[x]", "[y]"], "\\section[{[}x{]}]{{[}y]}"),
        ("\\item$n$ a\n", ["x {1/}"], "\\item x $n$\n"),
        ("\\item a\n", ["[x]"], "\\item {[}x]\n"),
        ("a \\emph{b} c\n", ["x {1}y{/1}z"], "x \\emph{y}z\n"),
        ("a {\\bf\\large b} c\n", ["{1}x{/1} y"], "{\\bf\\large x} y\n"),
        ("a \\ours. b", ["{1/} x."], "\\ours{} x."),
        ("a \\ours b", ["x {1/} y"], "x \\ours y"),
        ("a \\ours b", ["x {1/}."], "x \\ours."),
        ("a \\ours b", ["x {1/}y"], "x \\ours{}y"),
        ("a $b$ $c$", ["x{1/}{2/}"], "x$b${}$c$"),
        ("a %c\nb", ["x{1/} y"], "x%c\n{} y"),
        ("a %c\nb", ["x {1/}y"], "x %c\ny"),
        ("a\\\\\nb", ["x{1/}[y]"], "x\\\\{[}y]"),
        ("a\\\\b", ["x{1/}*y"], "x\\\\{*}y"),
        ("\\foo{k}a {\\bf b}", ["{1/}{2}x{/2}"], "\\foo{k}\\relax{\\bf x}"),
        ("a\\footnote{b} c", ["{1/}x", "y"], "\\footnote{y}x"),
        ("\\href{http://a.b/%20#c}{a}", ["x_"], "\\href{http://a.b/%20#c}{x\\_}"),
        ("\\begin{tabular}{l}a & 1.5 \\\\ \\hline\\end{tabular}", ["9"], "{}9 & 1.5"),
        (
            "\\begin{tabular}{l}\\multirow{2}{*}{a} & \\%\\end{tabular}",
            ["x", "y"],
            "{*}{x} & y\\end{tabular}",
        ),
        ("\\begin{theorem}[a]\nb\n\\end{theorem}", ["x]", "y"], "\\begin{theorem}[x{]}]\ny\n"),
        ("\\bibliographystyle {plain} \\input {b} a", ["x"], "\\bibliographystyle {plain} \\input {b} x"),
        ("\\newtheorem{thm}{a}[section]", ["x"], "\\newtheorem{thm}{x}[section]"),
        ("\\def\\x#1{no} a", ["x"], "\\def\\x#1{no} x"),
        ("\\setlength\\parindent{0pt}\\parskip=3pt plus 1pt a", ["x"], "=3pt plus 1pt x"),
        ("\\begin{align*}a&b\\\\c\\end{align*} b", ["x"], "\\end{align*} x"),
        ("\\makeatletter\\def\\a@b{c}\\makeatother a", ["x"], "\\makeatother x"),
        ("\\documentclass{a}\\title{b}\n\\newcommand{\\c}{d}", ["x"], "\\title{x}\n\\newcommand{\\c}{d}"),
        ("\\begin{document}a\\end{document} b", ["x"], "\\begin{document}x\\end{document} b"),
        ("\\newminted{py}{}\\begin{pycode}a\\end{pycode}b", ["x"], "\\end{pycode}x"),
        ("a\r\nb\r\n\r\nc", ["x", "y"], "x\r\n\r\ny"),
        ("\ufeffa", ["x"], "\ufeffx"),
    ],
)
def test_a_translation_is_written_so_that_it_is_printed(
    source: str, targets: list[str], expected: str, tmp_path: Path
) -> None:
    result = rendered(tmp_path, source, *targets)
    assert expected in result
    assert [re.sub(r"\{/?\d/?\}", "", text) for text in found(tmp_path, result)[: len(targets)]] == [
        re.sub(r"\{/?\d/?\}", "", text) for text in targets
    ]


@pytest.mark.parametrize(
    ("source", "segments"),
    [
        ("\\unknown{a}{b} c", ["{1/} c"]),
        ("\\begin{unknown}{a}[b] c\\end{unknown}", ["c"]),
        ("\\begin{mycodebox} c\\end{mycodebox} d", ["d"]),
        ("\\begin{otherlanguage}{english} c\\end{otherlanguage}", []),
        ("a \\begin{equation} b", ["a"]),
        ("a $b\n\nc", ["a", "b", "c"]),
        ("a {b \\section{c", ["a", "b {1/}", "c"]),
        ("\\begin{verbatim} a", []),
        ("\\verb|a", ["{1/}|a"]),
        ("a } b", ["a", "b"]),
        ("\\begin{x} a \\end{y} b", ["a", "b"]),
        ("a \\\n\nb \\", ["a", "b"]),
        ("%\n% a\n", []),
        ('na{\\"\\i}ve {\\ss}', ["naïve ß"]),
        ("\\cmidrule(lr){1-2} a", ["a"]),
    ],
)
def test_what_is_no_text_is_kept(source: str, segments: list[str], tmp_path: Path) -> None:
    assert found(tmp_path, source) == segments


def test_a_file_in_another_encoding_stays_in_it(tmp_path: Path) -> None:
    text = "\\documentclass{a}\\usepackage[latin1]{inputenc}\\begin{document}\nGr\xfc\xdfe\n\\end{document}"
    (tmp_path / "a.tex").write_bytes(text.encode("latin-1"))
    document = open_document(tmp_path / "a.tex")
    assert [str(segment.source) for segment in document.segments] == ["Gr\xfc\xdfe"]
    result = document.render({0: "Smörgås, Łódź, Škoda"})
    assert "Smörgås, \\L{}ód\\'{z}, \\v{S}koda".encode("latin-1") in result


def test_the_name_of_an_encoding_may_have_a_hyphen(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_bytes("\\usepackage[koi8-r]{inputenc}\n\nПривет\n".encode("koi8-r"))
    assert [str(segment.source) for segment in open_document(tmp_path / "a.tex").segments] == ["Привет"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"\usepackage[ngerman]{babel}", r"\usepackage[english]{babel}"),
        (r"\usepackage[english,main=ngerman]{babel}", r"\usepackage[ngerman,main=english]{babel}"),
        (r"\documentclass[a4paper,german]{book}", r"\documentclass[a4paper,english]{book}"),
        (r"\setmainlanguage{german}", r"\setmainlanguage{english}"),
        (r"\usepackage[french]{babel}", r"\usepackage[french]{babel}"),
        (r"\foreignlanguage{ngerman}{Wort}", r"\foreignlanguage{ngerman}{Wort}"),
    ],
)
def test_babel_is_given_the_language_of_the_translation(line: str, expected: str, tmp_path: Path) -> None:
    text = f"{line}\n\\begin{{document}}a\\end{{document}}"
    document = opened(tmp_path, text, "de", "en")
    assert document.render({}) == text.encode()
    assert document.render({0: "x"}).decode().startswith(expected + "\n")
    assert opened(tmp_path, text, "de", "ko").render({0: "x"}).decode().startswith(line + "\n")


PIECES = [*"{}[]$&~\\%-'\"`<>*", "\n", "\n\n", "\r\n", " ", "a", "Wort ", "$$", "\\[", "\\]", "\\(", "\\)"]
PIECES += ["\\\\", "\\\\[2pt]", "\\emph{", "\\footnote{y}", "\\section{", "\\section[k]{l}", "\\item"]
PIECES += ["\\begin{tabular}{ll}", "\\end{tabular}", "\\begin{figure}[t]", "\\end{figure}", "\\item["]
PIECES += ["\\begin{equation}", "\\end{equation}", "\\begin{x}", "\\end{x}", "\\foo", "\\foo[o]{k}"]
PIECES += ["\\begin{verbatim}", "\\end{verbatim}", "{\\bf ", "\\noindent ", "\\,", "\\%", "---", "``"]
PIECES += ["\\ ", "%x\n", "#1", "\\def\\x#1{", "\\hskip 2pt", "\\caption{", "\\begin{frame}{", "\\c c"]
PIECES += ["\\begin{document}", "{}", "\\LaTeX", "\\href{u}{", "\\verb|a|"]
SOURCES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join)
SIGNS = st.lists(st.sampled_from([*"[]*-'`\"\\{}$%&#_^~<>|,?!“”‘—– 1", "가", "\xa0", "word"]), max_size=5)


def is_whole(text: str) -> bool:
    """Return whether all braces and formulas of a text are closed, and commands have their arguments."""
    tokens = Tokens(text)
    for number, kind in enumerate(tokens.kinds):
        if kind in ("{", "}", "$", "verbatim") and tokens.partners[number] < 0:
            return False
        if kind == "symbol" and tokens.raw(number)[1] in "()[]" and tokens.partners[number] < 0:
            return False
        if kind == "[" and tokens.partners[number] < 0:
            return False
    return True


@given(SOURCES, st.lists(SIGNS.map("".join), min_size=1, max_size=9))
@settings(max_examples=400, deadline=None)
def test_any_translation_of_any_file_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, source: str, words: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("latex")
    document = opened(folder, source)
    assert document.render({}) == source.encode()
    for segment in document.segments:
        joined = "".join(tag.raw for tag in segment.source.tags if tag.name == "group")
        assert joined.count("{") - joined.count("\\{") == joined.count("}") - joined.count("\\}")
        text = " ".join(word for word in words if word.strip())
        if not text.strip() or not is_whole(source):
            continue
        target = repair(segment.source, carry(segment.source, text)).strip()
        again = opened(folder, document.render({segment.number: target}).decode())
        assert len(again.segments) == len(document.segments)
        assert _plain(again.segments[segment.number].source) == _plain(target.collapsed())


def _plain(markup: Markup) -> str:
    return "".join(piece for piece in markup.pieces if isinstance(piece, str)).strip()


@pytest.mark.parametrize("text", [PAPER, CHAPTER, TALK])
def test_pylatexenc_finds_the_same_commands_after_translation(text: str, tmp_path: Path) -> None:
    walker = pytest.importorskip("pylatexenc.latexwalker")

    def structure(page: str) -> list[str]:
        """Return environments, commands, formulas and groups with their depth, without characters."""
        page = re.sub(r"(?s)\\begin\{lstlisting\}.*?\\end\{lstlisting\}|%20", "", page)
        found: list[str] = []
        nodes = [(0, node) for node in walker.LatexWalker(page, tolerant_parsing=False).get_latex_nodes()[0]]
        while nodes:
            depth, node = nodes.pop(0)
            name = getattr(node, "macroname", None) or getattr(node, "environmentname", None) or ""
            inner = list(getattr(node, "nodelist", None) or [])
            inner += getattr(getattr(node, "nodeargd", None), "argnlist", None) or []
            if len(name) > 1 and name not in ("textbackslash", "symbol", "ss", "ldots"):
                found.append(f"{depth} {name}")
            elif node.isNodeType(walker.LatexMathNode):
                found.append(f"{depth} {node.latex_verbatim()}")
            nodes[:0] = [(depth + 1, part) for part in inner if part is not None]
        return found

    document = opened(tmp_path, text)
    words = "100 % {Wörter} & $x$ #1 [y] \\z"
    result = document.render({s.number: carry(s.source, words) for s in document.segments}).decode()
    assert structure(result) == structure(text)


def test_pylatexenc_prints_what_was_translated(tmp_path: Path) -> None:
    printer = pytest.importorskip("pylatexenc.latex2text").LatexNodes2Text()
    words = "50 % von a_b & {c} #1 ~ \\ $5"
    result = rendered(tmp_path, "a \\emph{c} d\n", f"{words} {{1}}{words}{{/1}} {words}")
    assert printer.latex_to_text(result).strip() == f"{words} {words} {words}"


def test_a_chapter_cut_anywhere_is_read(tmp_path: Path) -> None:
    text = CHAPTER.encode()
    for end in range(1, len(text), 3):
        (tmp_path / "a.tex").write_bytes(text[:end].decode("utf-8", "ignore").encode())
        document = open_document(tmp_path / "a.tex")
        document.render({segment.number: segment.source for segment in document.segments})
