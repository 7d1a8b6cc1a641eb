"""Packages for Argos Translate, read as it reads them: CTranslate2 and SentencePiece from one archive."""

import json
import os
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from exported_runs import sentences, translator_run

from multihead.apps.export import argos, comparison, manifest
from multihead.errors import UserError
from multihead.tasks.translation.lines import Translator

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
sentencepiece = pytest.importorskip("sentencepiece", reason="the extra `export` is not installed")


@pytest.fixture(scope="module", autouse=True)
def fewer_sentences() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "SENTENCES", 17)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return translator_run(tmp_path_factory.mktemp("run") / "run", kind="unigram")


@pytest.fixture(scope="module")
def package(run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "de_en.argosmodel"
    argos.export(run, path)
    return path


def test_the_package_translates_as_the_run(run: Any, package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    described = json.loads((folder / "metadata.json").read_text())
    assert (described["from_code"], described["to_code"], described["from_name"]) == ("de", "en", "German")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    runtime = ctranslate2.Translator(str(folder / "model"), intra_threads=1)
    lines = [source for source, _ in sentences(61)]
    pieces = [processor.encode(line, out_type=str) for line in lines]
    theirs = runtime.translate_batch(pieces, replace_unknowns=True, beam_size=1, max_decoding_length=17)
    texts = ["".join(one.hypotheses[0]).replace("▁", " ").strip() for one in theirs]
    ours = Translator.load(run.folder, device="cpu", precision="fp32")
    settings = ours.settings.model_copy(update={"method": "greedy", "max_length": 17, "n_best": 1})
    assert texts == [one.text for one in ours.translate(lines, settings)]


def test_argos_translate_installs_and_runs_the_package(package: Path, tmp_path: Path) -> None:
    python = os.environ.get("ARGOS_PYTHON")
    if not python:
        pytest.skip("ARGOS_PYTHON names no Python that has argostranslate")
    # Without a model of sentence boundaries, its splitter is replaced by one sentence.
    program = """
import sys, types
stanza = types.ModuleType("stanza")
stanza.Pipeline = lambda **_: lambda text: types.SimpleNamespace(sentences=[types.SimpleNamespace(text=text)])
sys.modules["stanza"] = stanza
import argostranslate.package, argostranslate.translate
argostranslate.package.install_from_path(sys.argv[1])
print(argostranslate.translate.translate("eins zwei drei", "de", "en"))
"""
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    environment.pop("PYTHONPATH", None)
    found = subprocess.run(
        [python, "-c", program, str(package)], capture_output=True, text=True, check=False, env=environment
    )
    assert found.returncode == 0, found.stderr
    words = found.stdout.split()
    assert words
    assert set(words) <= {"one", "two", "three", "four", "five", "six", "seven"}


def test_the_same_run_gives_the_same_bytes(run: Any, package: Path, tmp_path: Path) -> None:
    argos.export(run, tmp_path / "again.argosmodel")
    assert (tmp_path / "again.argosmodel").read_bytes() == package.read_bytes()


def test_an_altered_model_is_found_by_the_manifest(package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path)
    (model,) = tmp_path.glob("*/model")
    assert manifest.faults(model) == {}
    path = model / "model.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert manifest.faults(model).keys() == {"model.bin"}


def test_what_a_package_cannot_express_is_refused(run: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.argosmodel"):
        argos.export(run, tmp_path / "de_en.zip")
    words = translator_run(tmp_path / "words", kind="words", steps=0)
    with pytest.raises(UserError):
        argos.export(words, tmp_path / "words.argosmodel")
    (tmp_path / "there.argosmodel").write_text("mine")
    with pytest.raises(UserError, match="such a file already"):
        argos.export(run, tmp_path / "there.argosmodel")
    ssru = translator_run(tmp_path / "ssru", kind="unigram", steps=0, decoder_cell="ssru")
    with pytest.raises(UserError, match="ssru"):
        argos.export(ssru, tmp_path / "ssru.argosmodel")
    assert not list(tmp_path.glob("[!t]*.argosmodel"))
