"""The words of the pages in Korean, by their English text.

{} stands for a value. A Korean text may move values by their number: "{1} {0}". The scripts of the inspection
page write t`Layer ${layer}` for the key "Layer {}", the reports ``say("update {}", step)``.
"""

import json
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent


def _table(path: Path) -> Mapping[str, str]:
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


PAGE = _table(HERE / "page" / "page.ko.json")
"""Words of ``multihead inspect``."""
REPORT = _table(HERE / "report" / "report.ko.json")
"""Words of a training's report and of ``multihead compare``."""
