"""manifest.json: damaged, newer, and on a full disk."""

import errno
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest

from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.run.manifest import Manifest, ManifestEntry
from multihead.run.verify import verify
from multihead.system import disk

Make = Callable[[], Run]


def test_a_manifest_comes_back(tmp_path: Path) -> None:
    manifest = Manifest(("ab", "cd"), {"a": ManifestEntry.of(b"five!")}, {"b": ManifestEntry.of(b"")})
    manifest.save(tmp_path)
    assert Manifest.load(tmp_path) == manifest
    assert Manifest.load(tmp_path / "nowhere") is None


def test_a_newer_manifest_is_refused_everywhere(make: Make) -> None:
    folder = make().folder
    content = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(content | {"format": 2, "files": []}))
    with pytest.raises(UserError, match=r"made by a newer multihead.*Update multihead"):
        Run.open(folder)
    with pytest.raises(UserError, match="made by a newer multihead"):
        verify(folder)


@pytest.mark.parametrize("text", ["", "{}", "[]", "7", "null", "[" * 100_000, '{"format": 1, "sha256": ""}'])
def test_a_damaged_manifest_is_refused(make: Make, text: str) -> None:
    folder = make().folder
    (folder / "manifest.json").write_text(text)
    with pytest.raises(UserError, match=r"manifest\.json: damaged .*verify RUN --write"):
        Run.open(folder)
    with pytest.raises(UserError, match=r"manifest\.json: damaged"):
        Run(folder).lock()


def test_a_file_that_only_earlier_versions_read_does_no_harm(make: Make) -> None:
    folder, text = make().folder, '{"format": 1, "names": true, "words": {"Hund": 2}}\n'
    manifest = Manifest.load(folder)
    assert manifest
    (folder / "spelling.json").write_text(text)
    replace(manifest, files={**manifest.files, "spelling.json": ManifestEntry.of(text.encode())}).save(folder)
    Run.open(folder)
    assert "spelling.json" not in [row.file for row in verify(folder) if row.damaged]


def test_a_full_disk_at_any_moment_of_replacing_the_recipe_leaves_a_valid_run(
    make: Make, recipe: Recipe[Settings]
) -> None:
    longer = replace(recipe, training=recipe.training.model_copy(update={"steps": 9001}))
    folder = make().folder
    seen = []
    for moment in count():
        calls = count()

        def full(path: Path, calls: "count[int]" = calls, moment: int = moment) -> None:
            if next(calls) == moment:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with Run.open(folder).lock() as run, patch.object(disk, "sync", full), suppress(UserError):
            run.write_recipe(longer)
        seen.append(Run.open(folder).recipe.training.steps)
        assert not any(row.damaged for row in verify(folder))
        if next(calls) < moment:
            break
        with Run.open(folder).lock() as run:
            run.write_recipe(recipe)
    assert set(seen) == {recipe.training.steps, 9001}
