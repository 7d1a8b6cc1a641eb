"""Korean texts of the pages, by their English text.

{} stands for a value. A Korean text may reorder values by their number: "{1} {0}". The scripts of
the inspection page write t`Layer ${layer}` for the key "Layer {}", the reports ``say("update {}", step)``.
"""

import json
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
PAGE: Mapping[str, str] = json.loads((HERE / "page" / "page.ko.json").read_text(encoding="utf-8"))
"""Texts of ``multihead inspect``."""
REPORT: Mapping[str, str] = json.loads((HERE / "report" / "report.ko.json").read_text(encoding="utf-8"))
"""Texts of the reports: a training, ``multihead compare`` and ``multihead sweep``."""
