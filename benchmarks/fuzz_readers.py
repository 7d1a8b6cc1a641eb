"""Search a reader of untrusted files for crashes, guided by coverage (Atheris).

    pip install atheris
    python benchmarks/fuzz_readers.py recipe.toml --seconds 60

The readers and their valid files are those of ``tests/run/test_reader_fuzz.py``, where findings are kept.
"""

import argparse
import logging
import sys
import tempfile
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "run"))


def main() -> None:
    """Run the fuzzer; it ends with a traceback at the first finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    try:
        atheris = import_module("atheris")
    except ImportError:
        sys.exit("Atheris is not installed: pip install atheris (Linux, Python 3.11 to 3.13)")
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=["multihead", "tomllib", "json"]):
        tests = import_module("test_reader_fuzz")
    make, read = tests.READERS[options.reader]
    folder = Path(tempfile.mkdtemp())
    path = folder / options.reader
    seeds = folder / "seeds"
    seeds.mkdir()
    (seeds / "valid").write_bytes(make(folder))

    def once(content: bytes) -> None:
        path.write_bytes(content)
        assert "\n" not in tests.refusal(lambda: read(path))

    arguments = [sys.argv[0], str(seeds), f"-max_total_time={options.seconds}", "-rss_limit_mb=4096"]
    atheris.Setup([*arguments, "-timeout=10"], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
