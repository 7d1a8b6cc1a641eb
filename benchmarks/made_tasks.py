"""Four tasks that are no translation: inflected forms, misspelt lines, dates, and questions to SQL.

    python benchmarks/made_tasks.py --data data --out made                writes the pairs
    python benchmarks/made_tasks.py --data data --out made --minutes 3    also trains, tests and compares

made/TASK.{train,test}.tsv are: lemma and tags, form (1,000 and 500 pairs of UD English EWT); a caption of
Multi30k with typing errors, the caption (5,000 and 500); a date as people write it, that of ISO 8601 (2,000
and 500 other dates); a question over four tables, its SQL (3,000 and 500; no name in a test question occurs
in training, and half of these questions combine their parts as no training question does).

With --minutes each of --task is trained without settings and by two hand-made settings of the same time, on
one thread, and tested by `multihead evaluate`. Writes results/made-tasks.json after each task; a finished
training is kept.
"""

import argparse
import datetime
import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multihead.run import Run
from multihead.run.environment import environment
from multihead.scores import bleu, exact_match

RESULT = Path(__file__).parents[1] / "results" / "made-tasks.json"
Pair = tuple[str, str]
INFLECTED = ("VERB", "NOUN", "ADJ", "AUX")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ERRORS = 0.2
"""Share of the words that get a typing error."""
TASKS = {
    "inflection": (1000, "exact"),
    "spelling": (5000, "bleu"),
    "dates": (2000, "exact"),
    "sql": (3000, "exact"),
}
"""Training pairs, and the score that is compared."""
TESTED = 500
SPELT = ("--tokenizer.kind", "chars", "--tokenizer.dropout", "0", "--validation.metric", "cer")
PIECES = ("--tokenizer.vocab_size", "2000", "--tokenizer.dropout", "0")
SMALL = ("--model.num_layers", "3", "--model.dropout", "0.1")
WIDE = ("--model.num_layers", "3", "--model.d_model", "256", "--model.d_ff", "512", "--model.dropout", "0.3")
BY_HAND = {
    "inflection": ((*SPELT, *SMALL), (*SPELT, *WIDE)),
    "spelling": ((*SPELT, *SMALL), (*PIECES, *SMALL)),
    "dates": ((*SPELT, *SMALL), (*SPELT, *WIDE)),
    "sql": (
        (*PIECES, *SMALL, "--validation.metric", "exact"),
        (*PIECES, *WIDE, "--validation.metric", "exact"),
    ),
}
"""Settings of the recipe multi30k-de-en, with updates of 1,024 tokens."""
EVERY = ["--training.batch_tokens", "1024", "--training.warmup_steps", "100", "--validation.every", "150"]


def main() -> None:
    """Write the pairs, and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, default=Path("made"))
    parser.add_argument("--minutes", type=float, help="train, test and compare, so long for each training")
    parser.add_argument("--task", nargs="+", choices=TASKS, default=list(TASKS), help="tasks to train")
    settings = parser.parse_args()
    settings.out.mkdir(parents=True, exist_ok=True)
    for name, pairs in make_pairs(settings.data):
        count = TASKS[name][0]
        for part, chosen in (("train", pairs[:count]), ("test", pairs[count : count + TESTED])):
            text = "".join(f"{source}\t{target}\n" for source, target in chosen)
            (settings.out / f"{name}.{part}.tsv").write_text(text, encoding="utf-8")
    for name in settings.task if settings.minutes else ():
        measured = measure(settings.out, name, settings.minutes)
        results = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
        results[name] = measured
        RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(json.dumps({name: measured["scores"]}))


# --- pairs ---------------------------------------------------------------------------------------------


def make_pairs(data: Path) -> Iterator[tuple[str, Sequence[Pair]]]:
    """Yield the name of each task and its pairs, those of the training first."""
    chance = random.Random(1)
    forms = sorted(set(_read_inflections(data / "ud-english-ewt")))
    chance.shuffle(forms)
    yield "inflection", forms
    captions = _lines(data / "multi30k" / "train.en.gz")[:5500]
    yield "spelling", [(_misspelt(line, chance), line) for line in captions]
    days = [datetime.date(1950, 1, 1) + datetime.timedelta(day) for day in range(36_524)]
    yield "dates", [(_write_date(day, chance), f"{day}") for day in chance.sample(days, 2500)]
    names = sorted(set(_read_names(data / "ud-english-ewt")))
    chance.shuffle(names)
    yield (
        "sql",
        [
            *(_ask(names[:1000], chance, unseen=False) for _ in range(3000)),
            *(_ask(names[1000:], chance, unseen=number % 2 == 0) for number in range(500)),
        ],
    )


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def _read_words(folder: Path) -> Iterator[list[str]]:
    """Yield the columns of the words of a treebank: number, form, lemma, UPOS, XPOS, features."""
    for line in _lines(folder / "train.conll.gz"):
        columns = line.split("\t")
        if len(columns) == 6 and columns[1].isalpha() and columns[2].isalpha():
            yield columns


def _read_inflections(folder: Path) -> Iterator[Pair]:
    """Yield lemma and tags, and form, of the words of a treebank that are inflected."""
    for _, form, lemma, tag, _, features in _read_words(folder):
        if tag in INFLECTED and features != "_":
            yield " ".join([lemma.lower(), tag, *features.split("|")]), form.lower()


def _read_names(folder: Path) -> Iterator[str]:
    """Yield the names of a treebank, of one word."""
    for _, form, _, tag, _, _ in _read_words(folder):
        if tag == "PROPN" and form.istitle() and len(form) > 2:
            yield form


def _misspelt(line: str, chance: random.Random) -> str:
    """Return a line with letters left out, doubled, exchanged or wrong in some of its words."""
    words = line.split(" ")
    for number, word in enumerate(words):
        if len(word) > 2 and chance.random() < ERRORS:
            at = chance.randrange(len(word) - 1)
            words[number] = chance.choice(
                (
                    word[:at] + word[at + 1 :],
                    word[:at] + word[at] + word[at:],
                    word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                    word[:at] + chance.choice(LETTERS) + word[at + 1 :],
                )
            )
    return " ".join(words)


def _write_date(day: datetime.date, chance: random.Random) -> str:
    """Return a date as people write it; years of two digits are those from 1950 on."""
    short, long, year = f"{day:%b}", f"{day:%B}", day.year
    ordinal = (
        f"{day.day}{'th' if day.day in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(day.day % 10, 'th')}"
    )
    return chance.choice(
        (
            f"{short}. {day.day} '{day:%y}",
            f"{short} {day.day}, {year}",
            f"{long} {ordinal}, {year}",
            f"{long} {day.day} {year}",
            f"{day.day} {long} {year}",
            f"{day.day}-{short}-{day:%y}",
            f"{day:%A}, {day.day} {short} {year}",
            f"{day:%a}. {short}. {ordinal}, {year}",
            f"the {ordinal} of {long} {year}",
            f"{day.month}/{day.day}/{day:%y}",
            f"{day:%m/%d/%Y}",
            f"{day.day}.{day.month}.{year}",
            f"{day:%Y/%m/%d}",
            f"{day:%d%b%Y}".upper(),
        )
    )


TABLES = {
    "employees": (("name", "city", "department"), ("salary", "age")),
    "products": (("title", "brand", "category"), ("price", "stock")),
    "flights": (("airline", "origin", "destination"), ("fare", "duration")),
    "books": (("author", "publisher", "language"), ("pages", "year")),
}
"""Columns of text, and of numbers."""
SELECTED = (
    ("show the {column} of all {table}", "{column}"),
    ("what are the different {column}s of the {table}", "DISTINCT {column}"),
    ("how many {table} are there", "COUNT(*)"),
    ("what is the average {number} of the {table}", "AVG({number})"),
    ("give me the highest {number} among {table}", "MAX({number})"),
    ("list {column} and {number} of the {table}", "{column}, {number}"),
)
CONDITIONS = (
    ("whose {column} is {value}", "{column} = '{value}'"),
    ("with {value} as {column}", "{column} = '{value}'"),
    ("that do not have {value} as {column}", "{column} <> '{value}'"),
    ("whose {column} starts with {value}", "{column} LIKE '{value}%'"),
    ("with a {number} over {amount}", "{number} > {amount}"),
    ("with {number} less than {amount}", "{number} < {amount}"),
    ("whose {number} is {amount} or more", "{number} >= {amount}"),
    ("with a {number} between {amount} and {more}", "{number} BETWEEN {amount} AND {more}"),
)
ORDERS = (
    ("", ""),
    ("", ""),
    (", by {number}", " ORDER BY {number}"),
    (", highest {number} first", " ORDER BY {number} DESC"),
)


def _ask(names: Sequence[str], chance: random.Random, *, unseen: bool) -> Pair:
    """Return a question and its SQL, whose parts are combined as none of the training, or as some there."""
    while True:
        selected, order = chance.randrange(len(SELECTED)), chance.randrange(len(ORDERS))
        chosen = [chance.randrange(len(CONDITIONS)) for _ in range(chance.choice((1, 1, 2)))]
        if ((selected + 2 * sum(chosen) + 3 * order) % 5 == 0) == unseen:
            break
    table = chance.choice(list(TABLES))

    def fill(text: str) -> str:
        amount = chance.randint(2, 4000)
        value = " ".join(chance.sample(names, chance.choice((1, 1, 2))))
        values = {"value": value, "amount": amount, "more": amount + chance.randint(2, 900)}
        return text.format(table=table, **columns, **values)

    question, query = [], []
    for place, (asked, written) in enumerate(
        [SELECTED[selected], *(CONDITIONS[i] for i in chosen), ORDERS[order]]
    ):
        columns = {"column": chance.choice(TABLES[table][0]), "number": chance.choice(TABLES[table][1])}
        both = fill(f"{asked}\t{written}").split("\t")
        link = ("", " ", " and ", "")[place if place < 1 + len(chosen) else 3]
        question.append(link + both[0])
        query.append(both[1])
    where = " AND ".join(query[1:-1])
    return "".join(question).capitalize()[:1] + "".join(question)[1:] + "?", (
        f"SELECT {query[0]} FROM {table} WHERE {where}{query[-1]}"
    )


# --- measurement ---------------------------------------------------------------------------------------


def measure(folder: Path, name: str, minutes: float) -> dict[str, Any]:
    """Train and test one task without settings and by hand, and compare both with copying the source."""
    by_hand = {f"by hand {n}": ["multi30k-de-en", *s, *EVERY] for n, s in enumerate(BY_HAND[name], 1)}
    test, score = folder / f"{name}.test.tsv", TASKS[name][1]
    sources, references = zip(*(line.split("\t") for line in test.read_text().splitlines()), strict=True)
    copied = {"exact": exact_match(sources, references), "bleu": round(bleu(sources, references).value, 2)}
    scores: dict[str, dict[str, float]] = {"copying": copied}
    commands = {}
    for label, words in {"no settings": [], **by_hand}.items():
        run = folder / f"{name}-{label.replace(' ', '-')}"
        command = ["train", *words, "--src", f"{folder / name}.train.tsv", "--minutes", f"{minutes:g}"]
        command += ["--training.threads", "1", "--run", str(run)]
        commands[label] = " ".join(["multihead", *command]).replace(f"{folder}/", "made/")
        with run.with_suffix(".log").open("w") as log:
            subprocess.run([sys.executable, "-m", "multihead", *command], check=True, stdout=log, stderr=log)
        evaluate = [sys.executable, "-m", "multihead", "evaluate", str(run), "--src", str(test), "--json"]
        tested = json.loads(subprocess.run(evaluate, check=True, stdout=subprocess.PIPE).stdout)
        end = [event for event in Run.open(run).metrics() if event["event"] == "end"][-1]
        row = next(iter(tested.values()))
        scores[label] = {
            "updates": end["step"],
            **{key: row[key] for key in ("exact", "bleu", "chrf", "cer")},
        }
    return {"score": score, "scores": scores, "commands": commands, "environment": environment({})}


if __name__ == "__main__":
    main()
