"""A language model end to end, from text files to generated text."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from watching import Silent

from multihead import recipe as recipes
from multihead.batch import Source
from multihead.errors import UserError
from multihead.models.gpt import GPT
from multihead.models.gpt import Settings as GPTSettings
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.language.settings import SearchSettings
from multihead.tasks.language.text_generator import TextGenerator, _until
from multihead.tasks.translation.lines import Translator
from multihead.text.lossless import learn
from multihead.workflows.dry_run import dry_run
from multihead.workflows.train import train

TEXT = "".join(f"the cat number {n} sat on mat {n % 7}\n" for n in range(211))
Make = Callable[..., Recipe[Settings]]


@pytest.fixture
def small(tmp_path: Path) -> Make:
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")

    def make(**overrides: object) -> Recipe[Settings]:
        settings: dict[str, object] = {
            "name": "small",
            "data.dir": str(tmp_path),
            "data.files": "text.txt",
            "tokenizer.kind": "chars",
            "model.kind": "gpt",
            "model.context": 13,
            "model.d_model": 14,
            "model.num_heads": 2,
            "model.num_layers": 1,
            "training.steps": 6,
            "training.batch_tokens": 101,
            "training.warmup_steps": 3,
            "training.log_every": 1,
            "training.threads": 1,
            "validation.every": 2,
            "validation.sample_tokens": 5,
        }
        settings |= {key.replace("__", "."): value for key, value in overrides.items()}
        return recipes.from_toml("", overrides=settings)

    return make


@pytest.fixture
def trained(tmp_path: Path, small: Make) -> Path:
    train(small(), tmp_path / "run", Silent())
    return tmp_path / "run"


def test_a_run_has_metrics_and_samples_and_generates_text(trained: Path) -> None:
    events = [event for event in Run.open(trained).metrics() if event["event"] == "validation"]
    assert [event["step"] for event in events] == [2, 4, 6]
    assert {"loss", "perplexity", "bits_per_character", "accuracy"} <= events[0].keys()
    assert (trained / "curves.svg").stat().st_size > 1000
    assert "# step 6" in (trained / "samples.txt").read_text(encoding="utf-8")
    assert Run.open(trained).recipe.values()["model.vocab_size"] == 4 + len(set(TEXT))
    written = "".join(TextGenerator.load(trained).write("the cat", SearchSettings(max_tokens=29)))
    assert 0 < len(written) <= 29


def test_an_interrupted_run_ends_with_the_same_bytes(tmp_path: Path, small: Make, trained: Path) -> None:
    def object_at_5(event: dict[str, object]) -> None:
        if event["step"] == 5:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(small(), tmp_path / "cut", Silent(object_at_5))
    train(small(), tmp_path / "cut", Silent())
    assert (tmp_path / "cut/model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_dry_run_and_fine_tuning_work_for_language_models(tmp_path: Path, small: Make, trained: Path) -> None:
    found = dry_run(small(training__steps=100), Silent())
    assert found.largest_batch == {"tokens": 91, "texts": 7}
    assert "characters" in found.sizes["training text"]
    (tmp_path / "text.txt").write_text("the mat\n" * 97, encoding="utf-8")
    train(small(), tmp_path / "tuned", Silent(), init=trained)
    one, other = (Run.open(folder).tokenizers()[0] for folder in (trained, tmp_path / "tuned"))
    assert one.fingerprint == other.fingerprint


def test_a_command_for_translators_names_the_right_command(trained: Path) -> None:
    with pytest.raises(UserError, match=r'"gpt", trained for text generation .*`multihead generate'):
        Translator.load(trained)


def test_another_text_is_another_run(tmp_path: Path, small: Make, trained: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT + "more\n", encoding="utf-8")
    with pytest.raises(UserError, match="other data"):
        train(small(), trained, Silent())


# --- generation ---------------------------------------------------------------------------------------

LETTERS = learn([TEXT], "chars", 53, 1)


def generator(positions: str = "learned", context: int = 11) -> TextGenerator:
    settings = GPTSettings.model_validate(
        {
            "vocab_size": LETTERS.vocab_size,
            "context": context,
            "d_model": 14,
            "num_heads": 2,
            "num_layers": 2,
            "positions": positions,
        }
    )
    model = GPT(settings).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return TextGenerator(model, LETTERS, device=torch.device("cpu"), precision="fp32")


def reference(w: TextGenerator, prompt: str, count: int) -> str:
    """Generate greedily with a whole forward pass for every token, the oracle of the caches."""
    model = w.model
    assert isinstance(model, GPT)
    ids, first = LETTERS.encode(prompt), 0
    for _ in range(count):
        if not model.slides and len(ids) - first > model.context:
            first = len(ids) - model.context // 2
        logits = model(torch.tensor([ids[first:]]))[0, -1]
        logits[[0, 1, 2]] = -torch.inf
        ids.append(int(logits.argmax()))
        if ids[-1] == LETTERS.eos_id:
            break
    return LETTERS.decode(ids[len(prompt) :])


@torch.no_grad()
@pytest.mark.parametrize("positions", ["learned", "none"])
def test_generation_past_the_context_equals_whole_forward_passes(positions: str) -> None:
    w = generator(positions)
    found = "".join(w.write("the mat", SearchSettings(temperature=0, max_tokens=41)))
    assert found == reference(w, "the mat", 41)
    assert len(found) > 2 * 11


def test_equal_seeds_give_equal_texts_and_others_different_ones() -> None:
    w = generator()
    settings = SearchSettings(max_tokens=29, temperature=1.0)
    texts = ["".join(w.write("cat", settings, number=number)) for number in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    other = settings.model_copy(update={"seed": 2})
    assert "".join(w.write("cat", other)) != texts[0]
    narrow = settings.model_copy(update={"top_k": 1})
    greedy = settings.model_copy(update={"temperature": 0})
    assert "".join(w.write("cat", narrow)) == "".join(w.write("cat", greedy))


def test_generation_stops_before_a_stop_string() -> None:
    w = generator()
    settings = SearchSettings(max_tokens=59, temperature=1.0)
    whole = "".join(w.write("cat", settings))
    stop = whole[5:8]
    stopped = "".join(w.write("cat", settings.model_copy(update={"stop": (stop,)})))
    assert stopped == whole[: whole.index(stop)]


def test_a_possible_beginning_of_a_stop_string_is_held_back() -> None:
    assert list(_until(iter(["a", "b", "x", "a", "b", "c", "d"]), ("abc",))) == ["abx"]
    assert "".join(_until(iter(["a", "b"]), ("abc",))) == "ab"
    assert list(_until(iter(["a", "b", "y"]), ("q",))) == ["a", "b", "y"]


def test_a_bad_prompt_is_refused() -> None:
    with pytest.raises(UserError, match=r"prompt: characters not in the vocabulary: 'Ä' '가'"):
        generator().write("catÄ가Ä")
    with pytest.raises(UserError, match=r"prompt: 12 tokens; the context length is 11"):
        generator().write("t" * 12)
    assert len("".join(generator("none").write("t" * 12, SearchSettings(max_tokens=3, temperature=1.0)))) == 3


def test_a_character_of_several_bytes_is_yielded_whole() -> None:
    bytes_ = learn(["é가"], "bpe", 260, 9)

    class Fixed(nn.Module):
        """Writes é and 가, byte by byte."""

        context, slides = 99, True

        def start(self, source: Source, prefixes: list[list[int]]) -> "State":
            return State()

        def step(self, tokens: torch.Tensor, state: "State") -> tuple[torch.Tensor, "State"]:
            logits = torch.zeros(1, bytes_.vocab_size)
            logits[0, [*bytes_.encode("é가"), bytes_.eos_id][state.length]] = 99.0
            state.length += 1
            return logits, state

    class State:
        length = 0

    w = TextGenerator(Fixed(), bytes_, device=torch.device("cpu"))
    assert list(w.write("x", SearchSettings(temperature=0))) == ["é", "가"]
