"""The package without the extra ``train``: without PyTorch, and what is used with it only."""

import contextlib
import hashlib
import json
import re
import shutil
import site
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multihead
import multihead_documents
from multihead.cli import commands, main
from multihead.engines.native import positions
from multihead.errors import UserError
from multihead.nn.positions import sinusoids
from multihead.run.search_record import NAME, SearchRecord
from multihead.search.phrase import Phrase
from multihead.system import native, native_library
from multihead.system.native_library import Precision
from multihead.tasks.translation.lines import Translation, Translator
from multihead.tasks.translation.lines.loading import needs_pytorch
from multihead.tasks.translation.lines.native_translator import NativeTranslator

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")

SOURCE = Path(__file__).parents[2] / "src"
LINES = ["eins zwei drei", "sechs fünf vier", "", "zwei zwei zwei", "vier", "drei eins eins"]
TRAIN = ("torch", "functorch", "matplotlib", "mpl_toolkits", "num2words", "pil", "rapidfuzz", "sacrebleu")
USABLE = {
    *("align", "clean", "completion", "data", "doctor", "pieces", "recipes", "serve", "split", "tokenise"),
    *("translate", "verify"),
}
"""Commands that need PyTorch for some of their work at most."""
RUN = "import sys; sys.path[:0] = sys.argv[1:3]; sys.argv[1:] = sys.argv[3:]; "
COMMAND = RUN + "from multihead.cli import main; sys.exit(main())"


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all installed packages but those of the extra ``train``."""
    folder = tmp_path_factory.mktemp("packages")
    for installed in map(Path, site.getsitepackages()):
        for path in installed.iterdir() if installed.is_dir() else ():
            unwanted = path.name.lower().startswith(TRAIN) or path.suffix == ".pth"
            if not unwanted and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    documents = Path(multihead_documents.__file__).parent
    if not (folder / documents.name).exists():  # installed editably
        (folder / documents.name).symlink_to(documents)
    return folder


@pytest.fixture
def python(packages: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs code in Python without PyTorch."""

    def run(code: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-S", "-c", code, str(SOURCE), str(packages), *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)

    return run


def test_the_environment_has_no_pytorch(python: Any) -> None:
    assert "No module named 'torch'" in python(RUN + "import torch").stderr


@pytest.mark.parametrize("name", sorted(commands()))
def test_a_command_shows_its_help_or_names_the_extra_that_it_needs(python: Any, name: str) -> None:
    ended = python(COMMAND, name, "--help")
    if name in USABLE:
        assert (ended.returncode, ended.stderr) == (0, "")
        assert commands()[name] in ended.stdout
    else:
        assert (ended.returncode, ended.stdout) == (2, "")
        fact = f"`multihead {name}` needs PyTorch, which is not installed."
        assert ended.stderr == f"multihead: {fact} pip install 'multihead[train]'\n"


@pytest.mark.parametrize(
    "command",
    [
        ("--help",),
        ("--version",),
        ("clean", "--src", "{source}", "--tgt", "{target}", "-o", "{out}"),
        ("completion", "bash"),
        ("data", "list"),
        ("data", "make", "listops", "--count", "50", "--to", "{out}"),
        ("doctor",),
        ("doctor", "{run}"),
        ("pieces", "{run}"),
        ("recipes",),
        ("split", "--src", "{source}", "--tgt", "{target}", "--to", "{out}", "--valid", "9", "--test", "9"),
        ("verify", "{run}"),
    ],
)
def test_a_command_does_without_pytorch(
    command: tuple[str, ...], trained: Path, corpus: tuple[Path, Path], tmp_path: Path, python: Any
) -> None:
    names = {"run": trained, "source": corpus[0], "target": corpus[1], "out": tmp_path / "out"}
    ended = python(COMMAND, *(each.format(**names) for each in command))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("clean", "--src", "{source}", "--tgt", "{target}", "-o", "{out}", "--model", "{out}"),
        ("data", "make", "shapes", "--to", "{out}"),
        ("verify", "{run}", "--write"),
    ],
)
def test_the_part_of_a_command_that_needs_pytorch_says_so(
    command: tuple[str, ...], trained: Path, corpus: tuple[Path, Path], tmp_path: Path, python: Any
) -> None:
    names = {"run": trained, "source": corpus[0], "target": corpus[1], "out": tmp_path / "out"}
    ended = python(COMMAND, *(each.format(**names) for each in command))
    assert ended.returncode == 2
    assert "needs PyTorch, which is not installed. pip install 'multihead[train]'" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_verify_finds_damaged_weights_without_pytorch(copied: Path, python: Any) -> None:
    path = copied / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    ended = python(COMMAND, "verify", str(copied))
    assert ended.returncode == 1
    assert "model.safetensors: damaged" in ended.stderr


def test_translate_says_how_to_get_a_search_record(copied: Path, python: Any) -> None:
    (copied / NAME).unlink()
    for command in ("translate", "doctor"):
        ended = python(COMMAND, command, str(copied), text="eins\n")
        assert ended.returncode == 2
        last = ended.stderr.splitlines()[-1]
        assert f"needs PyTorch, which is not installed: it has no {NAME}" in last
        assert "`multihead doctor RUN` where PyTorch is" in last


def test_training_records_the_search(trained: Path) -> None:
    record = SearchRecord.read(trained)
    assert record is not None
    assert record.search == multihead.load(trained).settings


@pytest.mark.parametrize(("precision", "beam"), [("fp32", "1"), ("int8", "3")])
def test_translate_gives_the_same_lines_without_pytorch(
    trained: Path, python: Any, precision: Precision, beam: str
) -> None:
    options = ["--precision", precision, "--beam-size", beam]
    ended = python(COMMAND, "translate", str(trained), *options, text="\n".join(LINES) + "\n")
    assert ended.returncode == 0, ended.stderr
    translator = Translator.load(trained, precision=precision, device="cpu")
    settings = translator.settings.model_copy(update={"beam_size": int(beam)})
    expected = [one.text.strip() for one in translator.translate(LINES, settings)]
    assert ended.stdout.split("\n")[:-1] == expected


@pytest.mark.parametrize("precision", ["auto", "fp32", "bf16", "int8"])
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_hypotheses_are_those_of_the_engine_with_pytorch(trained: Path, precision: Any, beam: int) -> None:
    alone, full = NativeTranslator.load(trained, precision), Translator.load(trained, precision=precision)
    settings = alone.settings.model_copy(update={"beam_size": beam, "n_best": beam, "method": "beam"})
    assert alone.translate(LINES, settings) == full.translate(LINES, settings)


@pytest.mark.parametrize(("method", "beam"), [("greedy", 1), ("beam", 3)])
def test_constraints_need_no_pytorch(trained: Path, method: str, beam: int) -> None:
    alone, full = NativeTranslator.load(trained, "fp32"), Translator.load(trained, precision="fp32")
    changed = {"no_repeat_ngram": 1, "min_length": 4, "method": method, "beam_size": beam, "max_length": 7}
    settings = alone.settings.model_copy(update=changed)
    assert alone.translate(LINES, settings) == full.translate(LINES, settings)
    assert not alone._full


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_phrases_need_no_pytorch(trained: Path, precision: Precision) -> None:
    alone, full = NativeTranslator.load(trained, precision), Translator.load(trained, precision=precision)
    words = alone.target_tokenizer.encode_batch(["one", "two two", "six"])
    phrases = [[Phrase((tuple(words[number % 3]),))] for number in range(4)] + [[], [Phrase(((9, 7),))]]
    changed = {"method": "beam", "beam_size": 3, "n_best": 3, "min_length": 2, "max_length": 7}
    settings = alone.settings.model_copy(update=changed)
    found = alone.translate(LINES, settings, phrases=phrases)
    for one, expected in zip(found, full.translate(LINES, settings, phrases=phrases), strict=True):
        assert [output.tokens for output in one.hypotheses] == [o.tokens for o in expected.hypotheses]
        for output, other in zip(one.hypotheses, expected.hypotheses, strict=True):
            assert output.log_probability == pytest.approx(other.log_probability, rel=1e-5)
    assert not alone._full


@pytest.mark.parametrize("phrases", [None, [[Phrase(((9,),))]] * 6])
def test_outputs_are_ranked_by_coverage_whatever_is_searched(trained: Path, phrases: Any) -> None:
    alone, full = NativeTranslator.load(trained, "fp32"), Translator.load(trained, precision="fp32")
    changed = {"method": "beam", "beam_size": 4, "n_best": 4, "max_length": 7, "coverage_penalty": 2.0}
    settings = alone.settings.model_copy(update=changed)
    found = alone.translate(LINES, settings, phrases=phrases)
    assert_same(found, full.translate(LINES, settings, phrases=phrases))
    plain = settings.model_copy(update={"coverage_penalty": 0.0})
    assert found != full.translate(LINES, plain, phrases=phrases)
    assert not alone._full


def assert_same(found: list[Translation], expected: list[Translation]) -> None:
    """Assert the same outputs in the same order, with scores but for rounding."""
    for one, other in zip(found, expected, strict=True):
        assert [output.tokens for output in one.hypotheses] == [o.tokens for o in other.hypotheses]
        for output, wanted in zip(one.hypotheses, other.hypotheses, strict=True):
            assert output.score == pytest.approx(wanted.score, rel=1e-4, abs=1e-4)


def test_tags_are_placed_without_pytorch(trained: Path, python: Any, tmp_path: Path) -> None:
    page = "<p>eins <b>zwei drei</b></p><p>sechs <i>fünf</i> vier</p>"
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    ended = python(
        COMMAND, "translate", str(trained), str(tmp_path / "page.html"), "-o", str(tmp_path / "out.html")
    )
    assert ended.returncode == 0, ended.stderr
    full = shutil.copytree(trained, tmp_path / "full", ignore=shutil.ignore_patterns(NAME))
    assert main(["translate", str(full), str(tmp_path / "page.html"), "-o", str(tmp_path / "full.html")]) == 0
    expected = (tmp_path / "full.html").read_text(encoding="utf-8")
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == expected
    assert expected.count("<b>") == expected.count("</i>") == 1


def test_the_attention_is_that_of_the_engine_with_pytorch(trained: Path) -> None:
    alone, full = NativeTranslator.load(trained, "fp32"), Translator.load(trained, precision="fp32")
    sources = alone.source_tokenizer.encode_batch([LINES[0], LINES[4]])
    targets = alone.target_tokenizer.encode_batch(["one two", "four three three"])
    for one, other in zip(
        alone.attend_source(sources, targets), full.attend_source(sources, targets), strict=True
    ):
        for index in range(2):
            np.testing.assert_allclose(one.sentence(index), other.sentence(index), atol=1e-4)
    assert not alone._full


def test_a_lost_number_is_put_back_without_pytorch(trained: Path, python: Any) -> None:
    ended = python(COMMAND, "translate", str(trained), text="eins 4711 zwei\n")
    assert ended.returncode == 0, ended.stderr
    assert "4711" in ended.stdout


def test_python_loads_the_native_engine_alone(trained: Path, python: Any) -> None:
    code = (
        RUN + "import multihead; print(multihead.load(sys.argv[1], engine='native').translate(sys.argv[2]))"
    )
    ended = python(code, str(trained), LINES[0])
    assert ended.stdout.strip() == multihead.load(trained, precision="auto").translate(LINES[0]), ended.stderr


def test_python_loads_a_translator_without_pytorch(trained: Path, python: Any) -> None:
    code = RUN + "import multihead; print(multihead.load(sys.argv[1]).translate(sys.argv[2]))"
    ended = python(code, str(trained), LINES[0])
    assert ended.stdout.strip() == multihead.load(trained).translate(LINES[0]), ended.stderr


@pytest.mark.parametrize("name", ["train", "evaluate", "compare", "load"])
def test_a_function_that_needs_pytorch_says_so(trained: Path, python: Any, name: str) -> None:
    code = RUN + (
        "import multihead\n"
        "try: getattr(multihead, sys.argv[1])(*[sys.argv[2]] * 2)\n"
        "except multihead.errors.UserError as error: print(error)"
    )
    ended = python(code, name, str(trained))
    assert "needs PyTorch, which is not installed" in ended.stdout, ended.stderr
    assert ended.stdout.endswith("pip install 'multihead[train]'\n")


def test_serve_answers_without_pytorch(trained: Path, packages: Path) -> None:
    pytest.importorskip("starlette")
    with serving(trained, packages) as address:
        body = json.dumps({"q": LINES[0], "source": "de", "target": "en"}).encode()
        asked = urllib.request.Request(
            f"{address}/translate", body, {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            found = json.load(answer)
    assert found["translatedText"] == multihead.load(trained).translate(LINES[0])


@contextlib.contextmanager
def serving(run: Path, packages: Path) -> Iterator[str]:
    command = [sys.executable, "-S", "-c", COMMAND, str(SOURCE), str(packages), "serve", str(run)]
    server = subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout is not None
        seen = ""
        while not (found := re.search(r"http://\S+", seen)):
            line = server.stdout.readline()
            assert line, seen
            seen += line
        yield found[0]
    finally:
        server.terminate()
        server.communicate(timeout=30)


def test_what_needs_pytorch_says_so(trained: Path, python: Any) -> None:
    ended = python(COMMAND, "translate", str(trained), "--prefix", "one", text="eins\n")
    assert ended.returncode == 2
    assert "needs PyTorch" in ended.stderr


def test_with_pytorch_the_same_search_is_run(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, full = NativeTranslator.load(trained), Translator.load(trained)
    assert alone.translate(LINES, prefixes=["one"] * 6) == full.translate(LINES, prefixes=["one"] * 6)
    settings = alone.settings.model_copy(update={"method": "sample", "n_best": 2})
    assert alone.translate(LINES, settings) == full.translate(LINES, settings)


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def test_a_record_of_other_settings_is_made_anew(copied: Path) -> None:
    path = copied / "recipe.toml"
    path.write_text(path.read_text() + "\n# another\n")
    assert SearchRecord.read(copied) is None
    assert main(["verify", str(copied), "--write"]) == 0
    assert main(["doctor", str(copied)]) == 0
    assert SearchRecord.read(copied) is not None


@pytest.mark.parametrize("damage", ["flipped", "short", "absent"])
def test_a_damaged_record_is_not_read(copied: Path, damage: str) -> None:
    path = copied / NAME
    content = path.read_bytes()
    path.unlink()
    if damage == "flipped":
        place = content.index(b'"heads": 2') + 9
        path.write_bytes(content[:place] + b"4" + content[place + 1 :])
    if damage == "short":
        path.write_bytes(content[:-50])
    assert SearchRecord.read(copied) is None
    with pytest.raises(UserError, match="cannot search with this run"):
        NativeTranslator.load(copied)
    assert main(["doctor", str(copied)]) == 0
    assert SearchRecord.read(copied) is not None


def forged(folder: Path, old: str, new: str) -> None:
    """Change a record, and seal it again, as an attacker would."""
    text = (folder / NAME).read_text()
    assert old in text
    content = json.loads(text.replace(old, new))
    del content["sha256"]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (folder / NAME).write_text(json.dumps({**content, "sha256": digest}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"heads": 2', '"heads": 4'),
        ('"d_k": 8', '"d_k": 8.0'),
        ('"heads": 2, "kv_heads": 2', '"heads": -2, "kv_heads": -2'),
        ('"weight": {"weight": "encoder.layers.0.feed_forward.w_1.weight"}', '"weight": null'),
        (".feed_forward.w_1.weight", ".feed_forward.w_2.weight"),
        ('"is": "NormSpec"', '"is": "Unknown"'),
        ('"epsilon": ', '"epsilon": true, "other": '),
    ],
)
def test_a_forged_record_is_refused_before_the_kernels_read_memory(copied: Path, old: str, new: str) -> None:
    forged(copied, old, new)
    with pytest.raises(UserError, match=NAME):
        NativeTranslator.load(copied)


def test_damaged_weights_are_refused(copied: Path) -> None:
    path = copied / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        NativeTranslator.load(copied)


@pytest.mark.parametrize(
    ("length", "width", "interleaved"), [(17, 13, True), (600, 16, False), (3, 1, False)]
)
def test_positions_are_those_of_the_model(length: int, width: int, interleaved: bool) -> None:
    expected = sinusoids(length, width, interleaved=interleaved).numpy()
    found = positions.sinusoids(length, width, interleaved=interleaved)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ("", "was installed without its native part"),
        ("libgomp.so.1: cannot open shared object file", "lacks OpenMP's library"),
        ("wrong ELF class", r"does not load \(wrong ELF class\)"),
    ],
)
def test_why_there_are_no_kernels_is_said(
    trained: Path, monkeypatch: pytest.MonkeyPatch, why: str, expected: str
) -> None:
    monkeypatch.setattr(native_library, "WHY_NOT_LOADED", why)
    with native_library.use(""), pytest.raises(UserError, match=expected):
        raise needs_pytorch(trained)
