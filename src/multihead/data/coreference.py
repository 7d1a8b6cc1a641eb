"""Made-up English and French sentences whose adjective decides what "it" refers to (after Uszkoreit 2017).

"The animal didn't cross the street because it was too tired": "it" is the animal, "il" in French. With "too
wide" it is the street, "elle". https://research.google/blog/transformer-a-novel-neural-network-architecture-for-language-understanding/
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from multihead.system import randomness


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun, its French translation with the article, and the French gender."""

    english: str
    french: str
    feminine: bool


@dataclass(frozen=True, slots=True)
class CoreferenceExample:
    """A sentence with its translation.

    Attributes:
        source: the English sentence; "it" occurs once.
        target: the French sentence.
        animal: the noun that acts.
        place: the other noun.
        adjective: the English adjective.
        referent: what "it" refers to, the animal or the place.
        place_first: the place precedes the animal, so that the animal is nearer to "it".
    """

    source: str
    target: str
    animal: Noun
    place: Noun
    adjective: str
    referent: Noun
    place_first: bool


def _nouns(masculine: str, feminine: str) -> list[Noun]:
    return [
        Noun(words.partition("=")[0], words.partition("=")[2], gender)
        for gender, text in ((False, masculine), (True, feminine))
        for words in text.split(", ")
    ]


ANIMALS = _nouns(
    "animal=l'animal, cat=le chat, dog=le chien, horse=le cheval, rabbit=le lapin, fox=le renard",
    "cow=la vache, mouse=la souris, goat=la chèvre, turtle=la tortue, hen=la poule, ant=la fourmi",
)
PLACES = _nouns(
    "bridge=le pont, path=le chemin, field=le champ, garden=le jardin, tunnel=le tunnel, park=le parc",
    "street=la rue, road=la route, river=la rivière, square=la place, valley=la vallée, beach=la plage",
)
FITTING_ANIMALS = {
    "tired": ("fatigué", "fatiguée"),
    "hungry": ("affamé", "affamée"),
    "frightened": ("effrayé", "effrayée"),
    "sick": ("malade", "malade"),
    "sleepy": ("endormi", "endormie"),
    "nervous": ("nerveux", "nerveuse"),
    "lazy": ("paresseux", "paresseuse"),
    "shy": ("timide", "timide"),
}
FITTING_PLACES = {
    "wide": ("large", "large"),
    "long": ("long", "longue"),
    "narrow": ("étroit", "étroite"),
    "dark": ("sombre", "sombre"),
    "slippery": ("glissant", "glissante"),
    "crowded": ("bondé", "bondée"),
    "muddy": ("boueux", "boueuse"),
    "icy": ("verglacé", "verglacée"),
}
ADJECTIVES = FITTING_ANIMALS | FITTING_PLACES
VERBS = [
    ("cross", "crossed", "traversé"),
    ("reach", "reached", "atteint"),
    ("leave", "left", "quitté"),
    ("explore", "explored", "exploré"),
    ("visit", "visited", "visité"),
]
"""English infinitive and participle, French participle; masculine, the feminine has an e more."""
DEGREES = [("too", "trop"), ("so", "si")]
PATTERNS = 4
FAMOUS = {("animal", "street", "tired"), ("animal", "street", "wide")}
"""Always in the test part."""
SHARES = {"valid": 0.1, "test": 0.1}
"""Share of the combinations of animal, place and adjective that each held-out part has."""
IN_TRAINING, HELD_OUT = 10, 2
"""Sentences of each combination: training, and each held-out part."""


def sentence(
    animal: Noun, place: Noun, adjective: str, verb: int = 0, degree: int = 0, pattern: int = 0
) -> CoreferenceExample:
    """Return a sentence; pattern 0 with the first verb and degree is that of the famous one.

    Patterns 0 and 1 name the animal first, 2 (passive) and 3 the place.
    """
    referent = animal if adjective in FITTING_ANIMALS else place
    infinitive, passive, participle = VERBS[verb]
    how, comment = DEGREES[degree]
    a, p = animal.english, place.english
    french = [animal.french, place.french]
    agreeing = participle + "e" * place.feminine
    source, target = (
        (f"the {a} didn't {infinitive} the {p}", f"{french[0]} n'a pas {participle} {french[1]}"),
        (f"the {a} has not {passive} the {p} yet", f"{french[0]} n'a pas encore {participle} {french[1]}"),
        (f"the {p} wasn't {passive} by the {a}", f"{french[1]} n'a pas été {agreeing} par {french[0]}"),
        (
            f"the {p} has not been {passive} by the {a} yet",
            f"{french[1]} n'a pas encore été {agreeing} par {french[0]}",
        ),
    )[pattern]
    source += f" because it was {how} {adjective}."
    pronoun = "elle" if referent.feminine else "il"
    target += f" parce qu'{pronoun} était {comment} {ADJECTIVES[adjective][referent.feminine]}."
    return CoreferenceExample(
        source[0].upper() + source[1:],
        target[0].upper() + target[1:],
        animal,
        place,
        adjective,
        referent,
        pattern >= 2,
    )


def make(seed: int) -> dict[str, list[CoreferenceExample]]:
    """Return the parts train, valid and test; no combination of nouns and adjective is in two of them."""
    chance = random.Random(randomness.derive(seed, "coreference"))
    combinations = sorted(
        product(range(len(ANIMALS)), range(len(PLACES)), ADJECTIVES), key=lambda _: chance.random()
    )
    combinations.sort(key=lambda one: _names(one) not in FAMOUS)
    tested, validated = (round(SHARES[name] * len(combinations)) for name in ("test", "valid"))
    parts = {
        "train": [*_sentences(combinations[tested + validated :], IN_TRAINING, chance)],
        "valid": [*_sentences(combinations[tested : tested + validated], HELD_OUT, chance)],
        "test": [*_sentences(combinations[:tested], HELD_OUT, chance)],
    }
    parts["train"].sort(key=lambda _: chance.random())
    return parts


def _names(combination: tuple[int, int, str]) -> tuple[str, str, str]:
    animal, place, adjective = combination
    return ANIMALS[animal].english, PLACES[place].english, adjective


def _sentences(
    combinations: list[tuple[int, int, str]], count: int, chance: random.Random
) -> Iterator[CoreferenceExample]:
    """Yield different sentences of each combination; the famous one is the first of its combination."""
    forms = [*product(range(len(VERBS)), range(len(DEGREES)), range(PATTERNS))]
    for animal, place, adjective in combinations:
        order = sorted(forms, key=lambda _: chance.random())
        if _names((animal, place, adjective)) in FAMOUS:
            order.insert(0, (0, 0, 0))
        for form in [*dict.fromkeys(order)][:count]:
            yield sentence(ANIMALS[animal], PLACES[place], adjective, *form)
