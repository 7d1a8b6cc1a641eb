"""Write the tables of README, docs/measured and docs/explanation/reliability.md from the figures in results/.

    python docs/tables.py

A table stands between ``<!-- table: NAME -->`` and ``<!-- /table -->``; NAME is a function below. A test
fails where a page and its figures differ (tests/architecture/test_tables.py).
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/measured/quality.md",
    "docs/measured/training-speed.md",
    "docs/measured/index.md",
    "docs/explanation/papers.md",
    "docs/explanation/reliability.md",
)
BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- /table -->)", re.DOTALL)
BOTH = "bench-training-peers-allocator.json"
PEERS = ("Hugging Face", "Eole", "JoeyNMT")

Figures = Mapping[str, Any]
Row = tuple[str, str, str, str, str]


def figures(name: str) -> Any:
    """Return the content of a file of results."""
    file = ROOT / "results" / name
    return json.loads(file.read_text(encoding="utf-8"))


def ratio(spread: tuple[float, float, float]) -> str:
    """A median with the lowest and the highest: ``2.7 (2.6 to 2.9)``."""
    low, middle, high = spread
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


# --- quality ------------------------------------------------------------------------------------------


def seeds_of(recipe: str, figure: str, form: Callable[[float], str]) -> str:
    """Mean and range of a figure over three seeds: ``37.9 (37.6 to 38.2)``."""
    found = figures("three-seeds.json")[recipe]
    assert len(found["seeds"]) == 3, recipe
    spread = found["figures"][figure]
    return f"{form(spread['mean'])} ({form(spread['lowest'])} to {form(spread['highest'])})"


def published_bleu(name: str, test: str = "test_2016_flickr") -> str:
    """BLEU of a recorded training in the publisher's measure: ``43.0``."""
    return one_digit(figures(f"{name}/scores.json")[test]["bleu_tokenised_lowercase"])


def per_cent(value: float) -> str:
    """``99.2 %``."""
    return f"{100 * value:.1f} %"


def one_digit(value: float) -> str:
    """``37.9``."""
    return f"{value:.1f}"


def three_digits(value: float) -> str:
    """``1.622``."""
    return f"{value:.3f}"


SEEDS = (
    ("quickstart", "held_out exact", "1,000 numbers never seen in training, exactly right", per_cent),
    (
        "multi30k-de-en-fast",
        "test_2016_flickr bleu_lowercase",
        "test_2016_flickr, BLEU lower-cased",
        one_digit,
    ),
    (
        "multi30k-de-en-fast",
        "test_2017_flickr bleu_lowercase",
        "test_2017_flickr, BLEU lower-cased",
        one_digit,
    ),
    (
        "multi30k-de-en-fast",
        "test_2017_mscoco bleu_lowercase",
        "test_2017_mscoco, BLEU lower-cased",
        one_digit,
    ),
    ("multi30k-de-en", "test_2016_flickr bleu_lowercase", "test_2016_flickr, BLEU lower-cased", one_digit),
    ("multi30k-en-fr", "test_2016_flickr bleu_lowercase", "test_2016_flickr, BLEU lower-cased", one_digit),
    ("shakespeare-char-cpu", "loss", "last tenth of tiny Shakespeare, loss a character", three_digits),
    ("shakespeare-llama", "loss", "the same", three_digits),
    ("shakespeare-mixtral", "loss", "the same", three_digits),
    ("odd-one-out", "test accuracy", "odd one of ten garments, 10,000 sets, right", per_cent),
    ("odd-one-out-mean", "test accuracy", "the same", per_cent),
    ("vit-digits", "accuracy on 2,000 new digits", "2,000 digits of another data seed, right", per_cent),
)


def three_seeds() -> str:
    """Recipes trained from three seeds: mean, lowest, highest."""
    found = figures("three-seeds.json")
    rows = ["| recipe | measured on | mean | lowest to highest |", "| --- | --- | ---: | ---: |"]
    for recipe, figure, condition, form in SEEDS:
        if len(found.get(recipe, {}).get("seeds", ())) == 3:
            spread = found[recipe]["figures"][figure]
            both = f"{form(spread['lowest'])} to {form(spread['highest'])}"
            rows.append(f"| `{recipe}` | {condition} | {form(spread['mean'])} | {both} |")
    return "\n".join(rows)


FORMS: dict[str, Callable[[float], str]] = {
    "one digit": one_digit,
    "three digits": three_digits,
    "share": per_cent,
    "per cent": lambda value: f"{value:.1f} %",
}


def whole_trainings() -> str:
    """Every system of the papers with a recipe, and what its whole training gave (trainings.toml)."""
    rows = [
        "| system | recipe | measured on | reached | seeds | to beat |",
        "| --- | --- | --- | ---: | ---: | --- |",
    ]
    trainings = whole()
    for row in trainings["training"]:
        reached = FORMS[row["form"]](_mean_at(figures(row["file"]), row["figure"]))
        link = f"[{reached}](../../results/{row['file'].removesuffix('/scores.json')})"
        facts = (row["system"], f"`{row['recipe']}`", row["data"], link, str(row.get("seeds", 1)))
        rows.append(f"| {' | '.join((*facts, row.get('to_beat', '')))} |")
    reasons = [f"- {row['system']}: {row['reason']}" for row in trainings["without"]]
    return "\n".join([*rows, "", "Without a whole training:", "", *reasons])


def whole() -> Mapping[str, Any]:
    """Return the content of trainings.toml: whole trainings, and the models that have none."""
    file = ROOT / "docs" / "explanation" / "trainings.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _mean_at(content: Any, keys: Sequence[str | int]) -> float:
    """Return the figure at these keys; "*" is the mean over all keys."""
    if not keys:
        return float(content)
    if keys[0] == "*":
        return fmean(_mean_at(value, keys[1:]) for value in content.values())
    return _mean_at(content[keys[0]], keys[1:])


# --- training speed -----------------------------------------------------------------------------------


def columns(rows: Figures, peer: str, own: str = "multihead") -> tuple[str, str]:
    """Our speed over the peer's: with its memory kept, and as it comes."""
    key = f"{own}: times as fast"
    return ratio(rows[f"{peer} bf16, memory kept"][key]["seconds"]), ratio(
        rows[f"{peer} bf16"][key]["seconds"]
    )


def peers_conclusion() -> str:
    """The first sentences of the page."""
    by_threads = figures(BOTH)["measured"]["small"]

    def gains(at: int) -> str:
        return "; ".join(
            f"{peer} {' and '.join(columns(rows, peer)[at] for rows in by_threads.values())}"
            for peer in PEERS
        )

    plain = " and ".join(columns(rows, PEERS[0], "without native kernels")[0] for rows in by_threads.values())
    return (
        "**On this CPU, with the same allocator setting for everybody, on one and on two threads, multihead "
        f"trains a small Transformer in int8 so many times as fast as its peers in bf16: {gains(0)}. In bf16 "
        f"without native kernels it is {plain} times as fast as {PEERS[0]}.** "
        f"Every toolkit as it comes: {gains(1)}."
    )


def peers() -> str:
    """Target tokens a second of each toolkit, and ratios in both columns."""
    lines = [
        f"Five rounds in one run, interleaved, an otherwise idle machine ([figures](../../results/{BOTH}), "
        "`python benchmarks/peers/training.py`). Target tokens a second are medians; ratios are ours to "
        "theirs:",
        "",
        "| | tokens/s as it comes | memory kept | int8 faster by, as it comes | memory kept "
        "| bf16 without native kernels faster by, memory kept | peak MiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for threads, rows in figures(BOTH)["measured"]["small"].items():
        on = f"{threads} thread{'s' * (threads != '1')}"
        for name, label in (
            ("multihead", "int8, native kernels"),
            ("without native kernels", "bf16, without"),
        ):
            row = rows[name]
            speed, memory = row["tokens_per_second"][1], row["peak_mib"]
            gain = "" if name == "multihead" else ratio(row["multihead: times as fast"]["seconds"])
            lines.append(f"| multihead, {label}, {on} | | {speed:,.0f} | | {gain} | | {memory:,.0f} |")
        for peer in PEERS:
            own, kept = rows[f"{peer} bf16"], rows[f"{peer} bf16, memory kept"]
            cells = [f"{row['tokens_per_second'][1]:,.0f}" for row in (own, kept)]
            strict, loose = columns(rows, peer)
            cells += [loose, strict, columns(rows, peer, "without native kernels")[0]]
            lines.append(f"| {peer}, bf16, {on} | {' | '.join(cells)} | {own['peak_mib']:,.0f} |")
    return "\n".join(lines)


def complexity() -> str:
    """Table 1 of the paper beside its measurement."""
    return (ROOT / "results" / "complexity.md").read_text(encoding="utf-8").rstrip("\n")


def any_corpus() -> str:
    """Corpora trained with no settings: what was chosen, how long it took, and how good it is."""
    head = "| corpus | pairs | chosen pieces | updates | minutes | lines right | WER | BLEU |"
    rows = [head, "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, row in figures("any-corpus.json").items():
        test, chosen = row["test"], row["recipe"]
        pieces = f"{chosen['tokenizer.kind']}, {chosen['tokenizer.vocab_size']:,}"
        shown = name.replace(" seed 1", "").replace(" min", " minutes")
        facts = (
            *(shown, f"{row['pairs']:,}", pieces, f"{row['updates']:,}"),
            *(f"{row['minutes_in_all']:.0f}", f"{test['right_percent']:.1f} %", f"{test['wer']:.1f} %"),
            f"{test['bleu']:.1f}",
        )
        rows.append(f"| {' | '.join(facts)} |")
    return "\n".join(rows)


# --- reliability --------------------------------------------------------------------------------------


def torture() -> str:
    """Faults injected by ``make torture``: injections, survived, lost."""
    found = figures("torture.json")
    rows = [
        f"`{found['command']}`:",
        "",
        "| fault | injections | survived | lost |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, row in found["rows"].items():
        rows.append(f"| {name} | {row['injections']} | {row['survived']} | {row['lost']} |")
    return "\n".join(rows)


# --- README -------------------------------------------------------------------------------------------


def readme() -> str:
    """The rows of the README: technical prose, time to a translator, speed of training and of translation."""
    names = ("prose", "minutes", "training", "translation")
    return _table([_headlines()[name] for name in names], "docs/measured/")


def headlines() -> str:
    """All headlines, for the front page of the measurements."""
    return _table(_headlines().values(), "")


def _table(rows: Iterable[Row], folder: str) -> str:
    """Lay rows out as a table whose last column links to the details."""
    head = ["| | multihead | others | condition, source |", "| --- | ---: | ---: | --- |"]
    lines = [f"| {' | '.join(row[:-1])}; [details]({folder}{row[-1]}) |" for row in rows]
    return "\n".join([*head, *lines])


def _headlines() -> dict[str, Row]:
    """Return title, ours, theirs, condition and the place of the details of each headline."""
    translation = figures("bench-translation.json")["measured"]
    greedy, beam = (translation[f"beam {size}"] for size in (1, 5))

    def speeds(*names: str) -> str:
        return "; ".join(
            " / ".join(f"{by[n]['sentences_per_second']:,.0f}" for by in (greedy, beam)) for n in names
        )

    fast = seeds_of("multi30k-de-en-fast", "test_2016_flickr bleu_lowercase", one_digit)
    small = seeds_of("shakespeare-char-cpu", "loss", three_digits)
    eole = figures("bench-minutes-eole.json")["runs"]
    minutes = [run["minutes_to_train"] for run in (eole[0], eole[2])]
    score = [run["test_2016_flickr"]["bleu_lowercase"] for run in (eole[0], eole[2])]
    ours, theirs = _peers_cells()
    prose = next(
        rows["rows"] for name, rows in figures("few-passes.json").items() if name.endswith("90 minutes each")
    )
    prose_scores = [f"{row['dev']['bleu']:.1f} / {row['dev']['chrf']:.1f}" for row in prose]
    return {
        "prose": (
            "Technical prose in 90 minutes, BLEU / chrF",
            prose_scores[0],
            f"Hugging Face Marian of 256/512, tuned in two tries {prose_scores[1]}",
            "Debian's descriptions en-it, validation set, zero settings, one thread of a busy core, one "
            "training each",
            "quality.md#corpora-that-nobody-tuned-for",
        ),
        "minutes": (
            "From raw text to a translator, one core",
            f"{minutes[0]:.1f} min to {score[0]:.1f} BLEU",
            f"Eole {minutes[1]:.1f} min to {score[1]:.1f}",
            f"Multi30k de-en, one session, other core busy; `multi30k-de-en-fast` from three seeds: {fast}",
            "training-speed.md#raw-text-to-a-translator",
        ),
        "quality de-en": (
            "Quality, Multi30k de-en, 2.1 M parameters",
            f"{published_bleu('multi30k-de-en')} BLEU",
            "36.04, 36.52 (tutorials, 9 M)",
            "test_2016_flickr in the tutorials' measure, one training",
            "quality.md#translators",
        ),
        "quality en-fr": (
            "Quality, Multi30k en-fr and en-de",
            f"{published_bleu('multi30k-en-fr')}; {published_bleu('multi30k-en-de-lowercase')} BLEU, "
            f"{published_bleu('multi30k-en-de-diverse')} with diversified data",
            "**61.8; 41.02** (Transformer-Tiny)",
            "test_2016_flickr, one training each; en-fr and plain en-de **do not reach** the published "
            "figures",
            "quality.md#translators",
        ),
        "gpt": (
            "GPT, tiny Shakespeare, 10.8 M parameters",
            f"loss {figures('shakespeare-char/scores.json')['validation']['loss']:.3f}",
            "1.4697 (nanoGPT, on a GPU)",
            f"a tie; one training; 0.8 M parameters from three seeds: {small}",
            "quality.md#other-models",
        ),
        "training": (
            "Training speed, target tokens/s, one core",
            ours,
            theirs,
            "3+3 layers, 256/512",
            "training-speed.md#compared-with-other-toolkits",
        ),
        "translation": (
            "Translation speed, greedy / beam of 5, sentences/s",
            f"bf16 {speeds('multihead')}; int8 {speeds('multihead int8')}",
            f"CTranslate2 int8 {speeds('CTranslate2 int8')}; Hugging Face bf16 {speeds('Hugging Face bf16')}",
            "one core, same weights, idle machine",
            "translation-speed.md",
        ),
    }


def _peers_cells() -> tuple[str, str]:
    """Ours and theirs, in the stricter column and on the number of threads that favours us least."""
    by_threads = figures(BOTH)["measured"]["small"]
    rows = min(by_threads.values(), key=lambda rows: columns(rows, PEERS[0])[0])
    ours = f"{rows['multihead']['tokens_per_second'][1]:,.0f}"
    theirs = [f"{peer} {rows[f'{peer} bf16, memory kept']['tokens_per_second'][1]:,.0f}" for peer in PEERS]
    gains = [columns(rows, peer)[0] for peer in PEERS]
    said = "; ".join(f"{name}: {gain} times" for name, gain in zip(theirs, gains, strict=True))
    return ours, f"{said}; the same allocator setting for everybody"


TABLES: dict[str, Callable[[], str]] = {
    "three-seeds": three_seeds,
    "whole-trainings": whole_trainings,
    "peers-conclusion": peers_conclusion,
    "peers": peers,
    "complexity": complexity,
    "any-corpus": any_corpus,
    "torture": torture,
    "readme": readme,
    "headlines": headlines,
}


def filled(text: str) -> str:
    """Return a page with its tables written anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def main() -> None:
    """Rewrite the pages."""
    for page in PAGES:
        file = ROOT / page
        file.write_text(filled(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
