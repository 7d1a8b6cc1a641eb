"""export.json: checksums of files of any size."""

from pathlib import Path

from multihead.apps.export import manifest
from multihead.system.disk import MAX_BYTES


def test_files_larger_than_those_read_whole_are_checked(tmp_path: Path) -> None:
    large = tmp_path / "model.bin"
    with large.open("wb") as file:
        file.truncate(MAX_BYTES + 7)
    manifest.write(tmp_path, "firefox", {})
    assert manifest.faults(tmp_path) == {}
    with large.open("r+b") as file:
        file.seek(MAX_BYTES + 3)
        file.write(b"\1")
    assert manifest.faults(tmp_path) == {"model.bin": "damaged: its content has changed"}
    with large.open("r+b") as file:
        file.truncate(MAX_BYTES)
    assert manifest.faults(tmp_path) == {"model.bin": f"damaged: {MAX_BYTES:,} bytes"}
