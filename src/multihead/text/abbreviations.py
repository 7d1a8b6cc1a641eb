"""Abbreviations that end in a period, and words that start sentences, by language; for ``text.segmentation``.

Entries omit the last period. Entries in lower case match in any case; entries with a capital match only as
written, because in lower case they are words ("Mass.", "Mar.").
"""

from collections.abc import Mapping
from typing import NamedTuple

import regex


class AbbreviationRules(NamedTuple):
    """The rules of a language.

    Attributes:
        never: abbreviations that a word follows: titles, "e.g.".
        seldom: abbreviations that end a sentence only before a ``starter``: "Inc.", "U.S.", "Jan.".
        often: abbreviations that end a sentence before any capital letter: "etc.", "p.m.".
        numbered: abbreviations that end a sentence except before a number: "No.", "Fig.".
        starters: frequent first words of sentences, that are not names.
        ordinals: whether a period makes a number an ordinal ("3. Mai").
        reporting: pattern of the words after a quotation in the same sentence ("Mary asked").
    """

    never: frozenset[str]
    seldom: frozenset[str]
    often: frozenset[str]
    numbered: frozenset[str]
    starters: frozenset[str]
    ordinals: bool = False
    reporting: str = ""


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


_LATIN_NEVER = "mr mrs ms mx dr prof st messrs cf vs viz e.g i.e ca approx al incl excl esp"
_LATIN_SELDOM = "inc ltd co corp jr sr bros u.s u.k u.n e.u d.c u.s.a u.s.s.r"
_LATIN_OFTEN = "etc a.m p.m ph.d m.d b.a m.a b.c a.d b.c.e c.e"
_LATIN_NUMBERED = "no nos nr vol p pp fig figs sec ch art eq eqs par ver"

_ENGLISH = AbbreviationRules(
    never=_words(
        _LATIN_NEVER,
        "gen col lt sgt capt cmdr adm maj cpl brig rev Hon gov Sen Rep Pres supt det insp Mt msgr resp ed",
        "eds trans repr univ asst assoc ext",
    ),
    seldom=_words(
        _LATIN_SELDOM,
        "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Tue Tues Thu Thurs Fri Ave blvd rd",
        "ln hwy bldg apt dept est ft calif Mass fla conn Pa",
    ),
    often=_words(_LATIN_OFTEN, "ibid op.cit esq"),
    numbered=_words(_LATIN_NUMBERED, "chap app ex tab lib ll vv"),
    starters=_words(
        "the a an he she it they we you i this that these those there here in on at but and or so then if",
        "when while however his her its their our my your what why how who where which no yes not nobody",
        "everyone some many most all as after before for from with by to is are was were do does did can",
        "could will would let please now once next one two three both each every another other others such",
        "since until although because despite during also still yet perhaps maybe",
    ),
    reporting=r"(?:\p{Lu}[\w’'-]*\s){1,2}(?:said|asked|replied|answered|cried|shouted|whispered|added|says|asks)\b",
)

_GERMAN = AbbreviationRules(
    never=_words(
        _LATIN_NEVER,
        "hr hrn Fr frl dipl ing Mag hl bzw vgl sog inkl exkl zzgl abzgl gem lt evtl ggf allg bes insb insbes",
        "hrsg geb gest gegr verh jährl mtl tel fa z.b d.h u.a z.t i.d.r v.a o.g u.u s.o s.u i.a z.zt d.i dt",
        "engl frz lat urspr vorm nachm bzgl betr einschl entspr m.e ehem mind max phil med jur rer nat h.c",
    ),
    seldom=_words(
        _LATIN_SELDOM,
        "Jan Feb Mär Apr Jun Jul Aug Sep Sept Okt Nov Dez mio mrd tsd mwst std min sek ges verf verl v.chr",
        "n.chr chr gmbh e.v o.ä u.ä gr kl zus",
    ),
    often=_words(_LATIN_OFTEN, "usw usf u.s.w u.dgl"),
    numbered=_words(_LATIN_NUMBERED, "nrn abb tab s kap abschn abs bd jg ziff anm rn rdnr rz hs str stk jh"),
    starters=_words(
        "der die das den dem des ein eine einer einem einen er sie es wir ihr ich du man dieser diese dieses",
        "diesen diesem jener jene in im am an auf bei beim mit nach von vom vor zu zum zur aus für und aber",
        "oder doch denn dann danach da dort hier heute morgen gestern nun so wenn als ob weil während",
        "nachdem bevor obwohl nur auch noch nicht kein keine wie was wer wo warum wann bitte ja nein mein",
        "meine sein seine ihre unser unsere alle viele einige zwar jedoch später zuerst schließlich außerdem",
        "deshalb trotzdem vielleicht niemand jeder jede durch gegen ohne seit bis über unter zwischen",
    ),
    ordinals=True,
    reporting=r"(?:sagte|fragte|rief|antwortete|flüsterte|meinte|erwiderte)\b",
)

_FRENCH = AbbreviationRules(
    never=_words(
        _LATIN_NEVER,
        "M MM mme mmes mlle mlles pr mgr Me ste sts stes c.-à-d env bd av fg p.ex n.b cie éd éds coll dir",
        "sté",
    ),
    seldom=_words(_LATIN_SELDOM, "janv févr avr juil sept oct nov déc ier ière i er s.a s.a.r.l p.-d.g apr"),
    often=_words(_LATIN_OFTEN, "j.-c av.j.-c"),
    numbered=_words(_LATIN_NUMBERED, "chap tabl t n al livr sect ann ibid"),
    starters=_words(
        "le la les l un une des il elle ils elles on nous vous je tu ce cet cette ces c d en à au aux dans",
        "sur pour par avec sans mais et ou donc or ni car puis alors quand si comme son sa ses leur leurs",
        "mon ma mes notre votre qui que quoi où pourquoi comment oui non rien personne tout tous plus après",
        "avant depuis pendant",
    ),
)

_OTHER = AbbreviationRules(
    never=_words(_LATIN_NEVER),
    seldom=_words(_LATIN_SELDOM),
    often=_words(_LATIN_OFTEN),
    numbered=_words(_LATIN_NUMBERED),
    starters=_ENGLISH.starters,
)

_RULES: Mapping[str, AbbreviationRules] = {
    "en": _ENGLISH,
    "de": _GERMAN,
    "fr": _FRENCH,
    "es": _OTHER._replace(
        never=_words(_LATIN_NEVER, "sr sra srta sres dra dña lic ing gral cnel excmo p.ej aprox núm"),
        often=_words(_LATIN_OFTEN, "ud uds vd ee.uu"),
        numbered=_words(_LATIN_NUMBERED, "pág págs cap núm tel"),
        starters=_words(
            "el la los las un una él ella ellos yo tú en de pero y o si no se su es lo que cuando como"
        ),
    ),
    "it": _OTHER._replace(
        never=_words(_LATIN_NEVER, "sig sigg sigra dott ing avv arch On ecc.mo p.es geom rag cav"),
        often=_words(_LATIN_OFTEN, "ecc s.p.a s.r.l"),
        numbered=_words(_LATIN_NUMBERED, "pag pagg cap n tel artt"),
        starters=_words(
            "il lo la i gli le un una egli lui lei noi in di ma e o se non si che quando come è per"
        ),
    ),
    "pt": _OTHER._replace(
        never=_words(_LATIN_NEVER, "sr sra srta dra exmo eng p.ex aprox"),
        numbered=_words(_LATIN_NUMBERED, "pág págs cap núm tel n"),
        starters=_words("o a os as um uma ele ela eles eu em de mas e ou se não que quando como é por"),
    ),
    "nl": _OTHER._replace(
        never=_words(_LATIN_NEVER, "dhr mevr mw ir drs ing bijv d.w.z o.a m.b.t i.v.m t.o.v resp evt"),
        often=_words(_LATIN_OFTEN, "enz e.d"),
        numbered=_words(_LATIN_NUMBERED, "blz hfdst afb tel"),
        starters=_words(
            "de het een hij zij ze wij we ik je dit dat deze in op maar en of als niet er wat wie"
        ),
    ),
    "ko": _OTHER._replace(
        reporting=r"(?:하고|라고|이라고|하며|라며|라는|고)(?=\s|[^\p{Hangul}])|[^.!?\n]{0,20}?"
        r"(?:말했|외쳤|물었|대답했|소리쳤|속삭였|중얼거렸|되물었)[가-힣]{1,4}(?=[.!?…])",
    ),
    "ja": _OTHER._replace(
        reporting=r"(?:と|って|っ|という|との|など|は|が|を|に|も|の|で|だ|か|や|へ)(?=[^\s。！？」』]{2})|"
        r"[^。！？「」\n]{0,15}?(?:言|叫|聞|尋|訊|答え|ささや|つぶや|述べ|話し|呼ん)[ぁ-ん]{1,4}(?=[。！？])",
    ),
    "zh": _OTHER._replace(
        reporting=r"[^。！？“”「」，\n]{0,12}?(?:说|問|问|說|道|喊|叫|答|回答|吼|嚷)道?(?=[。！？，：])",
    ),
}
_WITH_ORDINALS = _words("da nb nn no fi cs sk hu et lv hr sr bs sl is fo tr pl")


def rules(language: str) -> AbbreviationRules:
    """Return a language's rules by its code; unlisted languages get those common to the Latin script."""
    return _RULES.get(language, _OTHER._replace(ordinals=language in _WITH_ORDINALS))


REPORTING = {code: regex.compile(rule.reporting) for code, rule in _RULES.items() if rule.reporting}
"""Compiled patterns by language."""
