"""A page of `multihead inspect`: time to make it, its size, and its response to the pointer.

    python benchmarks/inspect_speed.py [--pieces 30 100 300] [--write]

The model is an untrained Transformer of 6 + 6 layers with 16 heads, d_model 512, the sentence and its
translation random letters, each one piece. Making counts everything from the loaded model to the file, the
median of three. The pointer is moved over the largest figure of some tabs in headless Chromium, 60 times
each; a move's time is from the event to the end of the frame that shows what it changed, waiting for that
frame included. Needs Chromium and playwright (`pip install '.[browser]'`). Prints JSON; with --write also to
results/bench-inspect.json. Run nothing beside it.
"""

import json
import random
import shutil
import statistics
import string
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import tyro

from multihead.inspect.page import make_page
from multihead.models.transformer import Settings, Transformer
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.run.environment import environment
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.page import explore
from multihead.text.training import train

RESULT = Path(__file__).parents[1] / "results" / "bench-inspect.json"
TABS = ("alignment", "cross", "sentence", "steps")
MOVES = 60
FIGURE = """() => {
  const area = (element) => element.getBoundingClientRect().width * element.getBoundingClientRect().height;
  const [largest] = [...document.querySelectorAll("#panel figure :is(svg, canvas)")]
    .sort((one, other) => area(other) - area(one));
  largest.scrollIntoView({block: "start"});
  return largest.getBoundingClientRect().toJSON();
}"""
WATCH = """() => {
  window.answers = [];
  addEventListener("pointermove", (event) =>
    requestAnimationFrame(() => setTimeout(() => answers.push(performance.now() - event.timeStamp))),
    true);
}"""


def main(pieces: tuple[int, ...] = (30, 100, 300), write: bool = False) -> None:
    """Measure, print."""
    browser = _browser()
    translator = _translator()
    with tempfile.TemporaryDirectory() as folder:
        measured = {str(length): _measure(translator, length, Path(folder), browser) for length in pieces}
    told = json.dumps({"environment": environment({}), "measured": measured}, indent=2)
    print(told)
    if write:
        RESULT.write_text(told + "\n", encoding="utf-8")


def _browser() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None or find_spec("playwright") is None:
        raise SystemExit("inspect_speed: needs Chromium and playwright (pip install '.[browser]')")
    return found


def _translator() -> Translator:
    vocabulary = train([" ".join(string.ascii_lowercase)], TokenizerSettings(kind="chars"))
    sizes = {"source_vocab": vocabulary.vocab_size, "target_vocab": vocabulary.vocab_size}
    torch.manual_seed(1)
    model = Transformer(Settings.model_validate({"num_heads": 16, **sizes})).eval()
    settings = SearchSettings(method="beam", beam_size=5, max_length=7)
    return Translator(
        [model], vocabulary, vocabulary, device=torch.device("cpu"), precision="fp32", settings=settings
    )


def _measure(translator: Translator, length: int, folder: Path, browser: str) -> dict[str, Any]:
    chance = random.Random(length)
    source, target = ("".join(chance.choices(string.ascii_lowercase, k=length)) for _ in range(2))
    file = folder / f"{length}.html"
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        make_page(explore(translator, source, target, name="speed")).save(file)
        seconds.append(round(time.perf_counter() - start, 2))
    made = {"seconds_to_make": statistics.median(seconds), "megabytes": round(file.stat().st_size / 1e6, 2)}
    return made | {"milliseconds_to_answer_the_pointer": _pointed(file, browser)}


def _pointed(file: Path, browser: str) -> dict[str, dict[str, float]]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (optional)

    chance = random.Random(1)
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        context = driver.chromium.launch_persistent_context(
            profile,
            executable_path=browser,
            headless=True,
            args=["--no-sandbox", "--disable-gpu"],
            viewport={"width": 1200, "height": 900},
        )
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate(WATCH)
        found = {}
        for tab in TABS:
            page.click(f"#tab-{tab}")
            box = page.evaluate(FIGURE)
            page.evaluate("() => { answers.length = 0 }")
            for _ in range(MOVES):
                left, top = max(0, box["left"]), max(0, box["top"])
                right, bottom = min(1200, box["right"]), min(900, box["bottom"])
                page.mouse.move(chance.uniform(left, right), chance.uniform(top, bottom))
                page.wait_for_timeout(30)
            answers = page.evaluate("() => answers")
            found[tab] = {
                "moves": len(answers),
                "median": round(statistics.median(answers), 1),
                "slowest": round(max(answers), 1),
            }
        context.close()
    return found


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
