import random
import re
from pathlib import Path

import numpy as np
import pytest
from scripted_translator import Script, ScriptedTranslator

from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.texts.confidence import Calibration
from multihead.tasks.translation.texts.sentence_search import LONG
from multihead.tasks.translation.texts.tag_alignment import Weights
from multihead.tasks.translation.texts.tag_placement import with_tags
from multihead.tasks.translation.texts.text_layout import Span, laid_out
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text import symbols
from multihead.text.casing import Casing
from multihead.text.changed_kinds import WHOLE_LINES
from multihead.text.markup import Markup, Tag, nest
from multihead.text.placeholders import find_tags
from multihead.text.symbols import PLACEHOLDERS
from multihead.text.terms import Glossary
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

TEXT = "the dog sees 1.234,56 € {name} at https://a.example/b <ph0> 안녕 \\ & %s ; Ein Hund läuft. 0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyzäöüß가을를이은는과와나라으로"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(
        [TEXT, LETTERS, LETTERS.upper()] * 3,
        TokenizerSettings(kind="chars", vocab_size=400, symbols=("standard",)),
    )


def upper(line: str, settings: SearchSettings) -> list[str]:
    """Translate by capitals; symbols stay."""
    return ["".join(part if known else symbols.escape(part.upper()) for part, known in symbols.split(line))]


def plain_upper(line: str, settings: SearchSettings) -> list[str]:
    return [line.upper()]


def dropping(line: str, settings: SearchSettings) -> list[str]:
    """Translate by capitals and lose every symbol and every digit."""
    parts = (part.upper() for part, known in symbols.split(line) if not known)
    return [symbols.escape("".join(letter for letter in "".join(parts) if letter not in "{}%0123456789"))]


def translator(tokenizer: Tokenizer, script: Script = upper, known: bool = True) -> TextTranslator:
    made = ScriptedTranslator(tokenizer, script)
    return TextTranslator(made, "de", "en", known=PLACEHOLDERS if known else ())


def spelled(markup: Markup) -> str:
    """Return markup with ``{1}`` and ``{/1}`` for its first pair of tags."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(tag.id for tag in markup.tags), 1)}
    slashes = {"open": "", "close": "/"}
    return "".join(
        piece if isinstance(piece, str) else f"{{{slashes[piece.kind]}{numbers[piece.id]}}}"
        for piece in markup.pieces
    )


def calls(one: TextTranslator) -> list[list[str]]:
    assert isinstance(one.translator, ScriptedTranslator)
    return one.translator.calls


def test_all_sentences_of_all_texts_are_searched_in_one_call(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer)
    texts = ["Ein Hund läuft. Er bellt.\n\n  Am 3. Mai kam Dr. Müller.\t", "", "Ja."]
    found = made.translate(texts)
    assert [one.text for one in found] == [text.upper() for text in texts]
    assert calls(made) == [["Ein Hund läuft.", "Er bellt.", "Am 3. Mai kam Dr. Müller.", "Ja."]]
    assert [len(one.sentences) for one in found] == [3, 0, 1]


def test_without_sentences_a_line_is_one(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer)
    assert made.translate([" Eins. Zwei.\n Drei. "], sentences=False)[0].text == " EINS. ZWEI.\n DREI. "
    assert calls(made) == [["Eins. Zwei.", "Drei."]]


def test_equal_sentences_are_searched_once(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer)
    assert made.translate(["Ja. Nein.", "Nein. Ja."])[1].text == "NEIN. JA."
    assert calls(made) == [["Ja.", "Nein."]]


def test_a_known_symbol_carries_each_placeholder(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer)
    (found,) = made.translate(["Nimm {name}, %s und 1.234,56 € von https://a.example/b."])
    assert found.text == "NIMM {name}, %s UND 1.234,56 € VON https://a.example/b."
    assert calls(made) == [["Nimm <ph0>, <ph1> und <ph2> von <ph3>."]]
    assert not found.unplaced
    assert not found.doubtful


@pytest.mark.parametrize("known", [True, False])
def test_what_search_loses_is_set_between_the_parts_and_reported(tokenizer: Tokenizer, known: bool) -> None:
    made = translator(tokenizer, dropping, known)
    (found,) = made.translate(["Ein Hund {name} und 1.234,56 € gehen."])
    assert found.text == "EIN HUND {name} UND 1.234,56 € GEHEN."
    assert found.unplaced == ("{name}", "1.234,56 €")
    assert found.doubtful
    assert len(calls(made)) == 3  # as it is, with all that it must contain, in parts


@pytest.mark.parametrize("script", [upper, dropping])
@pytest.mark.parametrize("known", [True, False])
def test_no_placeholder_is_lost_in_thousands_of_generated_texts(
    tokenizer: Tokenizer, script: Script, known: bool
) -> None:
    chance = random.Random(len(script.__name__) + known)
    texts = [generated(chance) for _ in range(503)]
    found = translator(tokenizer, script, known).translate(texts)
    for text, one in zip(texts, found, strict=True):
        for part in (
            "{name}",
            "%s",
            "1.234,56 €",
            "{n, plural, one {# x} other {# {y}}}",
            "<b>",
            "</b>",
            "<br/>",
        ):
            assert one.text.count(part) >= text.count(part), (text, one.text)
        assert not any(sentence.missing for sentence in one.sentences)


def generated(chance: random.Random, depth: int = 0) -> str:
    """Return a text with placeholders and nested tags."""
    parts = []
    for _ in range(chance.randint(1, 3)):
        word = chance.choice(
            ["Hund", "der", "läuft.", "Ja!", "<ph1>", "{name}", "%s", "1.234,56 €", "<br/>", "🙂"]
        )
        parts.append(chance.choice([word, word, "{n, plural, one {# x} other {# {y}}}"]))
        if depth < 2 and chance.random() < 0.3:
            parts.append(f"<b>{generated(chance, depth + 1)}</b>")
    return chance.choice([" ", "  "]).join(parts)


def test_tags_stay_whole_and_nested_in_generated_texts(tokenizer: Tokenizer) -> None:
    chance = random.Random(11)
    texts = [generated(chance) for _ in range(499)]
    for text, one in zip(texts, translator(tokenizer).translate(texts), strict=True):
        depth = 0
        for tag in find_tags(one.text):
            depth += 0 if tag.name != "b" else -1 if tag.closing else 1
            assert depth >= 0, (text, one.text)
        assert depth == 0


def test_markup_keeps_each_tag_once(tokenizer: Tokenizer) -> None:
    tags = [Tag("1", "open"), Tag("2", "alone"), Tag("1", "close")]
    source = Markup.of("Ein ", tags[0], "roter Hund. Er", tags[1], " bellt ", tags[2], "laut. <b>Ja</b>")
    (found,) = translator(tokenizer).translate_markup([source])
    assert sorted(map(repr, found.markup.tags)) == sorted(map(repr, source.tags))
    assert nest(found.markup) == found.markup
    assert found.markup.text == "EIN ROTER HUND. ER BELLT LAUT. <b>JA</b>"


def test_a_text_that_looks_like_a_placeholder_stays_itself(tokenizer: Tokenizer) -> None:
    for text in ("<ph0> {0}", "\\<ph0>", "<\\ph0>", "</term> <2de> <ph15>", "{{{{", "%", "<g0>x</g0>"):
        for known in (True, False):
            script = upper if known else plain_upper
            (found,) = translator(tokenizer, script, known).translate([text])
            assert found.text.lower() == text.lower(), known


def test_what_has_no_letters_is_copied(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer)
    assert made.translate(["🙂🙂 12:30 {name} — 3,5 %"])[0].text == "🙂🙂 12:30 {name} — 3,5 %"
    assert calls(made) == [[]]


def test_a_loop_is_searched_again_without_repetitions(tokenizer: Tokenizer) -> None:
    def looping(line: str, settings: SearchSettings) -> list[str]:
        return ["a dog."] if settings.no_repeat_ngram else ["a dog " * 7]

    made = translator(tokenizer, looping)
    (found,) = made.translate(["Ein Hund."])
    assert (found.text, found.warnings) == ("a dog.", ())
    (found,) = translator(tokenizer, lambda line, settings: ["a dog " * 7]).translate(["Ein Hund."])
    assert found.warnings == ("the translation repeats itself",)
    assert found.doubtful


def test_alternatives_of_several_sentences_are_joined(tokenizer: Tokenizer) -> None:
    def two(line: str, settings: SearchSettings) -> list[str]:
        return [line.upper(), line.lower(), "?"] if line.startswith("E") else [line.upper(), line.lower()]

    (found,) = translator(tokenizer, two).translate(["Eins.  Zwei."])
    assert found.alternatives == ("eins.  zwei.", "?  zwei.")


def test_an_untranslated_sentence_keeps_its_source_and_a_warning(tokenizer: Tokenizer) -> None:
    (found,) = translator(tokenizer, lambda line, settings: []).translate(["Ein Hund."])
    assert (found.text, found.warnings, found.confidence) == ("Ein Hund.", ("the line is too long",), 0.0)


def test_every_term_appears(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("Hund\tdog\tdogs\nFrau Maus\tMs Maus\n", encoding="utf-8")
    glossary = Glossary.load(tmp_path / "terms.tsv")
    (found,) = translator(tokenizer).translate(["Ein Hund sieht Frau Maus. Ja."], glossary=glossary)
    assert found.text == "EIN dog SIEHT Ms Maus. JA."
    assert not found.missing
    first, second = found.sentences
    parts = [(first.source[slice(*one.source)], first.text[slice(*one.target)]) for one in first.terms]
    assert parts == [("Hund", "dog"), ("Frau Maus", "Ms Maus")]
    assert not second.terms


def test_a_single_string_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(UserError, match="not a list of texts"):
        translator(tokenizer).translate("Ja.")
    with pytest.raises(UserError, match="not a string"):
        translator(tokenizer).translate(["Ja.", 3])  # type: ignore[list-item]


def test_a_line_break_takes_the_place_of_a_space(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer, lambda line, settings: [" ".join(line.upper().split())])
    (found,) = made.translate(["Ein Hund<br/>läuft, <br> und schläft."])
    assert found.text == "EIN HUND<br/>LÄUFT, <br> UND SCHLÄFT."
    (found,) = made.translate(["Ein Hund.<br/>Er läuft."])
    assert found.text == "EIN HUND.<br/>ER LÄUFT."


@pytest.mark.parametrize("tag", ["<x/>", "<a><x/></a>", "<a><b><x/></b></a>", "<a><b>Baum</b> <x/></a>"])
def test_a_pair_without_words_stays_between_its_neighbours(tokenizer: Tokenizer, tag: str) -> None:
    made = translator(tokenizer, lambda line, settings: [" ".join(line.split())])
    words = ["Der", "große", "Hund", "<i>und</i>", "die", "Katze", "laufen."]
    texts = [" ".join([*words[:place], tag, *words[place:]]) for place in range(1, len(words))]
    assert [one.text for one in made.translate(texts)] == texts


def test_tags_of_a_copied_text_stay_where_they_are(tokenizer: Tokenizer) -> None:
    texts = ["1.<b>5</b> <x/> 2", "H<sub>2</sub>O", "<i>20</i>24 <a><x/></a> – <b>2</b>5"]
    made = translator(tokenizer, lambda line, settings: [line])
    assert [one.text for one in made.translate(texts)] == texts


def test_korean_particles_agree_with_what_was_put_before_them(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("Hund\t개\nWolf\t늑대\nBär\t곰\n", encoding="utf-8")
    glossary = Glossary.load(tmp_path / "terms.tsv")
    outputs = {"Der Wolf mag MPs.": "늑대은 개을 봅니다.", "Der Bär sieht {n}.": "곰가 <ph0>를 봅니다."}
    made = ScriptedTranslator(tokenizer, lambda line, settings: [outputs[line.replace("<ph0>", "{n}")]])
    korean = TextTranslator(made, "de", "ko", known=PLACEHOLDERS)
    found = korean.translate(list(outputs), glossary=glossary)
    assert found[0].text == "늑대는 개을 봅니다."  # no term of the source: as the model wrote it
    assert found[1].text == "곰이 {n}를 봅니다."
    (found[0],) = korean.translate(["Der Bär sieht {n}."])
    assert found[0].text == "곰가 {n}를 봅니다."


def test_korean_particles_agree_with_carried_names_and_numbers(tokenizer: Tokenizer) -> None:
    made = ScriptedTranslator(tokenizer, lambda line, settings: ["<ph1>를 <ph0>을 <ph2>로 봅니다."])
    korean = TextTranslator(made, "de", "ko", known=PLACEHOLDERS)
    (found,) = korean.translate(["Der Bär sieht {name} am 3.2.2013 bei www.pets.org."])
    assert found.text == "3.2.2013을 {name}을 www.pets.org로 봅니다."


@pytest.mark.parametrize(("source", "expected"), [
    ("Ein <b>roter Hund</b> läuft.", "läuft {1}roter Hund{/1} ein."),
    ("<b>Ein roter</b> Hund läuft.", "läuft {1}roter{/1} Hund ein."),
    ("Ein <b>roter <i>Hund</i></b> läuft.", "läuft {1}roter {2}Hund{/2}{/1} ein."),
    ("Ein <b>roter</b> <i>Hund</i> läuft.", "läuft {1}roter{/1} {2}Hund{/2} ein."),
    ("Ein roter Hund <b>läuft.</b>", "{1}läuft{/1} roter Hund ein."),
])  # fmt: skip
def test_tags_follow_the_words_that_attend_to_theirs(source: str, expected: str) -> None:
    unit = laid_out(Markup.of(source)).units[0]
    words = ["Ein", "roter", "Hund", "läuft", "."]
    order = [3, 1, 2, 0, 4]
    text = "läuft roter Hund ein."
    spans = [Span(*found.span()) for found in re.finditer(r"\w+|\.", text)]
    columns = [Span(*found.span()) for found in re.finditer(r"\w+|\.", unit.text)]
    matrix = np.full((5, 5), 0.05)
    matrix[range(5), order] = 0.8
    placed = with_tags(unit, text, Weights(matrix, spans, columns))
    assert spelled(placed) == expected
    assert len(words) == len(columns)


def test_a_sentence_in_capitals_is_searched_in_lower_case_and_written_in_capitals(
    tokenizer: Tokenizer,
) -> None:
    made = translator(tokenizer, lambda line, settings: [line.lower()])
    (found,) = made.translate(["DER HUND SIEHT {name} UND LÄUFT. USA. Ein HUND LÄUFT DA."])
    assert found.text == "DER HUND SIEHT {name} UND LÄUFT. usa. ein hund läuft da."
    assert calls(made)[0] == ["Der hund sieht <ph0> und läuft.", "USA.", "Ein HUND LÄUFT DA."]


def test_sentences_are_searched_in_the_spelling_of_the_training(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer, lambda line, settings: [line])
    made.casing = Casing.learn(["Da läuft ein Hund.", "Er ist da, auf der Straße."])
    texts = ["EIN HUND SIEHT {name} AUF DER STRASSE.", "ein hund läuft da.", "Ein hund läuft da."]
    found = made.translate(texts)
    assert calls(made)[0] == [
        "Ein Hund sieht <ph0> auf der Straße.",
        "Ein Hund läuft da.",
        "Ein hund läuft da.",
    ]
    assert found[0].text == "EIN HUND SIEHT {name} AUF DER STRASSE."


def test_a_word_that_training_never_had_is_searched_as_it_is_written(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer, lambda line, settings: [line])
    made.casing = Casing.learn(["Da läuft ein Hund.", "Er ist da, auf der Straße."] * 9)
    made.translate(["Ein Hnud sieht {nmae} auf der Starße.", "EIN HNUD LÄUFT."])
    assert calls(made)[0] == ["Ein Hnud sieht <ph0> auf der Starße.", "Ein hnud läuft."]


def test_a_corpus_in_capitals_is_searched_in_capitals(tokenizer: Tokenizer) -> None:
    """It teaches no spelling: what is learned has only the share of its sentences in capitals."""
    casing = Casing.learn(["HUND LÄUFT DA", "DA LÄUFT HUND"])
    made = TextTranslator(translator(tokenizer, lambda line, settings: [line]).translator, casing=casing)
    (found,) = made.translate(["HUND HUND LÄUFT"])
    assert found.text == "HUND HUND LÄUFT"
    assert calls(made)[0] == ["HUND HUND LÄUFT"]


def test_lines_that_training_never_split_are_searched_whole(tokenizer: Tokenizer) -> None:
    made = translator(tokenizer)
    whole = TextTranslator(made.translator, "de", "en", changed=(WHOLE_LINES,))
    assert [len(one.translate(["Der Hund. Die Katze."])[0].sentences) for one in (made, whole)] == [2, 1]


def test_what_training_changed_is_left_to_the_model(tokenizer: Tokenizer) -> None:
    def reordered(line: str, settings: SearchSettings) -> list[str]:
        return ["-".join(line.split(".")[::-1])]

    texts = ["27.11.2026", "28.11.2026"]
    assert translator(tokenizer, reordered).translate(texts)[0].text == "27.11.2026"
    made = ScriptedTranslator(tokenizer, reordered)
    changing = TextTranslator(made, "de", "en", known=PLACEHOLDERS, changed=("number", "letterless"))
    assert [one.text for one in changing.translate(texts)] == ["2026-11-27", "2026-11-28"]
    unmarked = TextTranslator(made, "de", "en", changed=("number", "letterless"))
    assert [one.text for one in unmarked.translate(texts)] == ["2026-11-27", "2026-11-28"]


def test_a_name_in_a_script_that_training_never_had_is_carried(tokenizer: Tokenizer) -> None:
    text = "der Hund Ζεύς und Леонид sieht Ðorđe"
    made = translator(tokenizer)
    assert made.translate([text])[0].text == "DER HUND Ζεύς UND Леонид SIEHT Ðorđe"
    assert calls(made) == [["der Hund <ph0> und <ph1> sieht <ph2>"]]
    assert translator(tokenizer, plain_upper, known=False).translate([text])[0].text == text.upper()


def test_one_word_that_becomes_seven_is_marked(tokenizer: Tokenizer) -> None:
    made = ScriptedTranslator(
        tokenizer, lambda line, settings: [line if " " in line else "the dog sees the dog at a"]
    )
    texts = TextTranslator(made, "de", "en", calibration=Calibration(longest=1.5))
    word, sentence = texts.translate(["hund", "ein hund sieht an the dog"])
    assert word.warnings == (LONG,)
    assert word.doubtful
    assert sentence.warnings == ()
