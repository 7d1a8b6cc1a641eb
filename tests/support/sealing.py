"""Run folders changed on purpose: the manifest accepts what a test has put into a file."""

import dataclasses
import json
from pathlib import Path

from multihead.run.manifest import Manifest, ManifestEntry


def accept(folder: Path) -> None:
    """Have the manifest accept each covered file as it is now."""
    manifest = Manifest.load(folder)
    assert manifest
    found = {
        name: ManifestEntry.of((folder / name).read_bytes())
        for name in manifest.files
        if (folder / name).exists()
    }
    dataclasses.replace(manifest, files=found).save(folder)


def edit(path: Path, **changes: object) -> None:
    """Change keys of a JSON file of a run folder, as if it had been written so."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    accept(path.parent)
