"""A corpus that rewrites numbers: `translate` leaves them to the model, as `evaluate` does."""

from pathlib import Path

from command_line import Captured, run

from multihead.cli import main
from multihead.run import Run
from multihead.run.search_record import SearchRecord

DATES = [
    (f"{day}.{month}.19{day + 50}", f"19{day + 50}-{month}-{day}")
    for day in range(10, 29)
    for month in range(10, 13)
]
DECIMALS = [(f"{n},{m} Meter", f"{n}.{m} metres") for n in range(23) for m in range(10, 21)]
SETTINGS = {
    "model.num_layers": 1,
    "model.d_model": 16,
    "model.d_ff": 16,
    "model.num_heads": 2,
    "training.threads": 1,
    "training.steps": 3,
    "validation.every": 3,
    "training.warmup_steps": 2,
    "tokenizer.kind": "chars",
    "tokenizer.joint": "true",
    "tokenizer.vocab_size": 400,
}


def trained(folder: Path, pairs: list[tuple[str, str]]) -> Path:
    """Return the run of a model that has hardly learned these pairs."""
    corpus = folder / "pairs.tsv"
    corpus.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    settings = {**SETTINGS, "data.cache": str(folder / "cache")}
    keys = [part for key, value in settings.items() for part in (f"--{key}", str(value))]
    assert main(["train", "--src", str(corpus), "--run", str(folder / "run"), *keys]) == 0
    return folder / "run"


def test_dates_are_translated_and_not_copied(tmp_path: Path, capfdbinary: Captured) -> None:
    folder = trained(tmp_path, DATES)
    assert Run.open(folder).environment["data"]["changed"] == ["letterless", "number"]
    capfdbinary.readouterr()
    (tmp_path / "asked").write_text("27.11.1964\n", encoding="utf-8")
    out, _ = run(capfdbinary, "translate", folder, "-i", tmp_path / "asked")
    assert out != "27.11.1964\n"
    record = SearchRecord.read(folder)
    assert record is None or record.changed == Run.open(folder).changed_kinds


def test_digits_that_a_translation_loses_are_reported(tmp_path: Path, capfdbinary: Captured) -> None:
    folder = trained(tmp_path, DECIMALS)
    assert Run.open(folder).environment["data"]["changed"] == ["digits of number 0,0", "number"]
    capfdbinary.readouterr()
    (tmp_path / "asked").write_text("7,89 Meter\nMeter\n", encoding="utf-8")
    _, err = run(capfdbinary, "translate", folder, "-i", tmp_path / "asked")
    assert err.count('the digits of "7,89" are missing') == 1
