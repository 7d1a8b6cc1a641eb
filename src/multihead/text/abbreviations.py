"""Abbreviations that end in a period, and words that start sentences; for ``text.segmentation``.

One list serves all languages; an entry that ends sentences of one of them is left out. Entries omit the last
period. Entries in lower case match in any case; entries with a capital match only as written, because in
lower case they are words ("Mass.", "Mar.").
"""

import regex


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


NEVER = _words(
    "mr mrs ms mx dr prof st messrs cf vs viz e.g i.e ca approx al incl excl esp gen col lt sgt capt cmdr",
    "adm cpl brig rev Hon gov Sen Rep Pres supt det insp Mt msgr resp ed eds trans repr univ asst assoc",
    "ext hr hrn Fr frl dipl Mag hl bzw vgl sog inkl exkl zzgl abzgl gem evtl ggf allg bes insb insbes hrsg",
    "geb gest gegr verh jährl mtl z.b d.h u.a z.t i.d.r v.a o.g u.u s.o s.u i.a z.zt d.i dt engl frz lat",
    "urspr vorm nachm bzgl betr einschl entspr m.e ehem phil jur rer h.c M MM mme mmes mlle mlles mgr Me",
    "ste sts stes c.-à-d bd av fg p.ex n.b cie éd éds sté sr sra srta sres dra dña lic gral cnel excmo p.ej",
    "aprox núm sig sigg sigra dott avv arch ecc.mo p.es geom rag cav exmo dhr mevr mw ir drs bijv d.w.z o.a",
    "m.b.t i.v.m t.o.v evt Ing Fa Pr env",
)
"""Abbreviations that a word follows: titles, "e.g."."""
SELDOM = _words(
    "inc ltd co corp jr sr bros u.s u.k u.n e.u d.c u.s.a u.s.s.r Jan Feb Mar Mär Apr Jun Jul Aug Sep Sept",
    "Oct Okt Nov Dec Dez Tue Tues Thu Thurs Fri janv févr avr juil déc Ave blvd rd ln hwy bldg apt dept est",
    "ft calif Mass fla conn Pa mio mrd tsd mwst std sek ges verf verl v.chr n.chr chr gmbh e.v o.ä u.ä",
    "gr zus ière s.a s.a.r.l p.-d.g",
)
"""Abbreviations that end a sentence only before a ``STARTER``: "Inc.", "U.S.", "Jan."."""
OFTEN = _words(
    "etc a.m p.m ph.d m.d b.a m.a b.c a.d b.c.e c.e ibid op.cit esq usw usf u.s.w u.dgl j.-c av.j.-c uds vd",
    "ee.uu ecc s.p.a s.r.l enz e.d",
)
"""Abbreviations that end a sentence before any capital letter: "etc.", "p.m."."""
NUMBERED = _words(
    "no nos nr vol p pp fig figs sec ch art eq eqs par ver chap ex lib ll vv nrn abb tab s kap abschn abs",
    "bd jg ziff anm rn rdnr rz hs str jh tabl t n livr sect ann pág págs cap núm tel pag pagg artt blz",
    "hfdst afb",
)
"""Abbreviations that end a sentence except before a number: "No.", "Fig."."""
STARTERS = _words(
    "the an he she it they we you this that these those there here in on at but and or so then if when",
    "while however his her its our my your what why how who where which yes not as after before for from",
    "with by is are was now all some der die das ein eine er sie es wir ihr ich im am auf bei beim mit nach",
    "zum zur für und aber oder doch denn dann danach dort hier heute wenn als ob weil während nur auch noch",
    "nicht kein keine wie wer warum bitte ja nein später trotzdem le les une il elle ils elles nous vous je",
    "ce cet cette ces dans sur pour par avec sans mais ou donc car puis alors quand si comme son sa ses qui",
    "que oui non rien las una ella ellos yo pero lo cuando como i gli egli lui lei noi ma se quando come è",
    "per os uma ele eu mas não het een hij zij ze wij ik dit dat deze maar en of niet wat c l d j personne",
    "après tout vielleicht einige alle tous",
)
"""Frequent first words of sentences that are not parts of names."""
ORDINALS = _words("de da nb nn no fi cs sk hu et lv hr sr bs sl is fo tr pl")
"""Languages in which a period makes a number an ordinal ("3. Mai")."""
REPORTING = {
    code: regex.compile(pattern)
    for code, pattern in {
        "en": r"(?:\p{Lu}[\w’'-]*\s){1,2}"
        r"(?:said|asked|replied|answered|cried|shouted|whispered|added|says|asks)\b",
        "de": r"(?:sagte|fragte|rief|antwortete|flüsterte|meinte|erwiderte)\b",
        "ko": r"(?:하고|라고|이라고|하며|라며|라는|고)(?=\s|[^\p{Hangul}])|[^.!?\n]{0,20}?"
        r"(?:말했|외쳤|물었|대답했|소리쳤|속삭였|중얼거렸|되물었)[가-힣]{1,4}(?=[.!?…])",
        "ja": r"(?:と|って|っ|という|との|など|は|が|を|に|も|の|で|だ|か|や|へ)(?=[^\s。！？」』]{2})|"
        r"[^。！？「」\n]{0,15}?(?:言|叫|聞|尋|訊|答え|ささや|つぶや|述べ|話し|呼ん)[ぁ-ん]{1,4}(?=[。！？])",
        "zh": r"[^。！？“”「」，\n]{0,12}?(?:说|問|问|說|道|喊|叫|答|回答|吼|嚷)道?(?=[。！？，：])",
    }.items()
}
"""Patterns of the words after a quotation in the same sentence ("Mary asked"), by language."""
