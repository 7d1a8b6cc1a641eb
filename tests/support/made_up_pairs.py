"""Makers of tiny corpora of many kinds: pronunciations, actions, tags, names, running text, strings."""

import random
import unicodedata
from collections.abc import Callable, Iterator

Pair = tuple[str, str]
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def word(chance: random.Random, letters: tuple[str, str] = (CONSONANTS, VOWELS)) -> str:
    return "".join(chance.choice(letters[i % 2]) for i in range(chance.randint(3, 9)))


def words(chance: random.Random, count: int, letters: tuple[str, str] = (CONSONANTS, VOWELS)) -> str:
    """A line of words, few of them often and many once, as in running text."""
    return " ".join(
        word(random.Random(int(chance.paretovariate(0.7))), letters) for _ in range(chance.randint(4, count))
    )


def pronounced(chance: random.Random) -> Pair:
    spelt = word(chance)
    return spelt, " ".join(letter.upper() * 2 for letter in spelt)


def acted(chance: random.Random) -> Pair:
    command = [chance.choice(("walk", "run", "jump", "look")) for _ in range(chance.randint(1, 7))]
    return " and ".join(command), " ".join(f"I_{one.upper()}" for one in command)


def acted_in_words(chance: random.Random) -> Pair:
    command, actions = acted(chance)
    return command, actions.replace("I_", "")


def query_pair(chance: random.Random) -> Pair:
    table, name = chance.choice(("books", "cities", "teams")), word(chance).title()
    column, number = chance.choice(("year", "size", "rank")), chance.randint(2, 4000)
    question, shown = chance.choice((("how many", "COUNT(*)"), (f"show the {column} of all", column)))
    query = f"SELECT {shown} FROM {table} WHERE title = '{name}' AND {column} > {number};"
    return f"{question} {table} with {name} in their title and a {column} over {number}", query


def tagged(chance: random.Random) -> Pair:
    line = words(chance, 11)
    return line, " ".join("NVAP"[len(one) % 4] for one in line.split())


def romanised(chance: random.Random) -> Pair:
    letters = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモラリルレロン"
    name = "".join(chance.choices(letters, k=chance.randint(4, 14)))
    return name, "".join(unicodedata.name(letter).split()[-1].lower() for letter in name)


def read_aloud(chance: random.Random) -> Pair:
    characters = [chance.randrange(300) for _ in range(chance.randint(4, 20))]
    syllables = (f"{CONSONANTS[one % 7]}{VOWELS[one % 5]}{one % 4 + 1}" for one in characters)
    return "".join(chr(0x4E00 + one) for one in characters), " ".join(syllables)


def transliterated(chance: random.Random) -> Pair:
    name = word(chance)
    return name, "".join(chr(0x0430 + ord(letter) - ord("a")) for letter in name)


def inflected(chance: random.Random) -> Pair:
    stem = word(chance)
    return f"{stem} V;PST", f"{stem}ed"


def inflected_by_tags(chance: random.Random) -> Pair:
    tags = chance.choice(("V IND PST 3 SG", "V IND PRS 3 SG", "N ACC PL FEM"))
    stem = word(chance)
    return f"{stem} {tags}", stem + chance.choice(("ed", "s", "en"))


def misspelt(chance: random.Random) -> Pair:
    line = words(chance, 13)
    at = chance.randrange(1, len(line))
    return line[:at] + line[at + 1 :], line


def translated(chance: random.Random) -> Pair:
    return words(chance, 13), words(chance, 13)


def into_cyrillic(chance: random.Random) -> Pair:
    return words(chance, 13), words(chance, 13, ("бвгджзклмнпрст", "аеиоу"))


def from_hebrew(chance: random.Random) -> Pair:
    return words(chance, 13, ("אבגדהוזחט", "יכלמנ")), words(chance, 13)


def into_chinese(chance: random.Random) -> Pair:
    hanzi = (chr(0x4E00 + int(chance.paretovariate(0.5)) % 2003) for _ in range(chance.randint(7, 29)))
    return words(chance, 13), "".join(hanzi)


def sequence(chance: random.Random) -> Pair:
    bases = "".join(chance.choice("ACGT") for _ in range(chance.randint(31, 97)))
    return bases, bases[::-1]


def corpus(make: Callable[[random.Random], Pair], pairs: int = 997) -> Iterator[Pair]:
    chance = random.Random(1)
    return (make(chance) for _ in range(pairs))


def named(chance: random.Random) -> Pair:
    """Two to four made-up names a line: neither spelt nor running text."""
    names = [word(chance) for _ in range(chance.randint(2, 4))]
    return " ".join(names), " ".join(name[::-1] for name in names)
