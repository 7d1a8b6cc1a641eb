"""Commands and environments of LaTeX: which of their arguments are text. All others are kept."""

from collections.abc import Iterator
from typing import NamedTuple


class Command(NamedTuple):
    """Use of a command: its arguments, and its role in a paragraph."""

    arguments: str
    """A letter each. Optional: ``o`` kept, ``O`` text, ``g`` text in braces. Mandatory: ``m`` kept, ``t``
    text of its own, ``i`` a part of the sentence around it."""
    role: str
    """``divider`` of paragraphs, ``inline``, ``layout`` (stripped from the ends of a sentence), ``word``."""


_COMMANDS = """
# Texts of their own, which end the paragraph before them.
divider Ot part chapter section subsection subsubsection paragraph subparagraph addpart addchap addsec
divider Ot caption title subtitle frametitle framesubtitle
divider t minisec subcaption legend dedication subject abstract keywords
divider mOt captionof
divider mot newtheorem
divider mott newacronym
divider tt epigraph
divider O item
# Texts of their own in the middle of a sentence.
word ot footnote footnotetext sidenote marginnote endnote
word Ot marginpar
layout t thanks
layout Om subfloat subfigure
# Parts of a sentence.
inline i emph textbf textit textsc textsl textsf textrm textup textmd textnormal underline uline uuline uwave
inline i sout hl ul so textsuperscript textsubscript mbox text enquote fbox uppercase lowercase MakeUppercase
inline i MakeLowercase centerline leftline rightline strong alert structure only uncover visible onslide
inline i invisible textquote blockquote textls
inline oi hyperref
inline mi hyperlink hypertarget scalebox
inline omi textcolor colorbox rotatebox
inline ooomi parbox
inline ooi makebox framebox
inline mooi raisebox
inline mmi resizebox multicolumn
inline omomoi multirow
inline im texorpdfstring
# Kept, and never in the middle of a sentence.
divider - par newpage clearpage cleardoublepage maketitle tableofcontents listoffigures listoftables appendix
divider - frontmatter mainmatter backmatter hline endhead endfoot endfirsthead endlastfoot printindex
divider - tabularnewline printglossaries
divider o toprule midrule bottomrule addlinespace printbibliography pause
divider m input include subfile bibliography bibliographystyle cline pagestyle thispagestyle pagenumbering
divider m graphicspath
# Kept, and of no matter for the sentence.
layout - noindent indent quad qquad enspace enskip hfill vfill smallskip medskip bigskip newline centering
layout - raggedright raggedleft protect leavevmode hfil vfil dotfill hrulefill phantomsection null sloppy
layout - fussy nobreak allowbreak footnotemark singlespacing onehalfspacing doublespacing onecolumn
layout o linebreak nolinebreak pagebreak nopagebreak twocolumn
layout m label index vspace hspace nocite glsadd enlargethispage selectlanguage
layout om color includegraphics linespread
layout mm setcounter addtocounter setlength addtolength
layout mmm addcontentsline
layout omm rule
word - LaTeX TeX LaTeXe BibTeX XeTeX LuaTeX today thepage
"""


def _commands() -> Iterator[tuple[str, Command]]:
    for line in _COMMANDS.strip().split("\n"):
        role, arguments, *names = line.split()
        if role != "#":
            yield from ((name, Command(arguments.strip("-"), role)) for name in names)


def _names(text: str, *, starred: bool = False) -> frozenset[str]:
    return frozenset(name + star for name in text.split() for star in ("", "*")[: 1 + starred])


COMMANDS = dict(_commands())
"""Commands by their names. What is not here is kept, with all arguments that follow it."""

DECLARATIONS = _names("""
    bf it sl sc tt rm sf em bfseries mdseries itshape slshape scshape upshape rmfamily sffamily ttfamily
    normalfont tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge centering
    raggedright raggedleft
""")
"""Commands without arguments that change what follows them in a group, ``{\\bf text}``."""

DEFINITIONS = _names("def gdef edef xdef")
"""Primitives whose parameters, ``#1#2``, come before the braces."""

PREAMBLE = _names("title subtitle dedication subject newtheorem newacronym")
"""Commands whose text is translated before ``\\begin{document}``."""

VERBATIM = _names(
    """
    verbatim Verbatim BVerbatim LVerbatim lstlisting minted alltt comment filecontents luacode pycode
    sagesilent asy tcblisting semiverbatim spverbatim boxedverbatim dot2tex
    """,
    starred=True,
)
"""Environments in which nothing is markup."""

_MATH = _names("""
    math displaymath equation align gather multline eqnarray flalign alignat subequations dmath dgroup
    IEEEeqnarray
""")
_KEPT = _names("""
    thebibliography otherlanguage algorithmic algorithmicx tabbing overpic forest CCSXML prooftree tikzcd
""")
_KEPT_PARTS = tuple(_names("picture code listing verbatim axis plot diagram graph math matrix"))

TABLES = _names(
    """
    tabular tabularx tabulary longtable supertabular xtabular xltabular tabu longtabu tblr longtblr talltblr
    NiceTabular
    """,
    starred=True,
)

FLOATS = _names(
    """
    figure table wrapfigure wraptable sidewaysfigure sidewaystable SCfigure SCtable marginfigure margintable
    algorithm
    """,
    starred=True,
)
"""Environments that float: the sentence around them goes on."""

ENVIRONMENTS = {
    **dict.fromkeys(_names("center quote quotation verse abstract flushleft flushright titlepage"), ""),
    **dict.fromkeys(_names("itemize enumerate description compactitem"), "o"),
    **dict.fromkeys(_names("block alertblock exampleblock"), "t"),
    **dict.fromkeys(
        _names("""
            theorem lemma proof definition corollary proposition remark example exercise question claim
            axiom conjecture note case assumption notation problem solution fact observation property
            satz beweis korollar bemerkung beispiel aufgabe lösung
        """),
        "O",
    ),
    "frame": "ogg",
}
"""Arguments of environments by their names without star; those of any other are kept."""


def is_kept(environment: str) -> bool:
    """Return whether the contents of an environment are kept: mathematics, drawings, code, references.

    Of unknown ones, by a part of their names.
    """
    bare = environment.rstrip("*")
    return bare in _MATH or bare in _KEPT or any(part in bare for part in _KEPT_PARTS)
