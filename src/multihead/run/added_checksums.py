"""Checksums added to a run folder that has none, or whose settled files were changed on purpose."""

from multihead.run import journal, tensors, vocabulary
from multihead.run.folder import Run
from multihead.run.manifest import Manifest, ManifestEntry
from multihead.run.names import FURTHER, WEIGHTS
from multihead.run.records import METRICS
from multihead.run.verify import READERS, settled_files
from multihead.text.tokenizer import Tokenizer


def seal(run: Run) -> None:
    """Give every file of a run a checksum of what it holds now.

    Files of tensors that have none are written anew with the same content. A file whose own checksum does
    not match is refused: it is damaged. The manifest comes last, so that a crash leaves a valid folder.

    Args:
        run: locked.

    Raises:
        UserError: a file cannot be read, or is damaged; the disk refuses.
    """
    settled = [name for name in (*settled_files(run.folder), *FURTHER) if (run.folder / name).exists()]
    for name in settled:
        READERS.get(name, Tokenizer.load)(run.folder / name)
    for path in [run.folder / WEIGHTS, *sorted(run.checkpoint_folder.glob("*.safetensors"))]:
        if path.exists():
            with tensors.reading(path) as content:
                content.check(run.origin, path, sealed=False)
            if not content.seal:
                tensors.save(path, content.tensors, content.meta, run.origin)
    journal.add_sums(run.folder / METRICS)
    files = {name: ManifestEntry.of((run.folder / name).read_bytes()) for name in settled}
    Manifest(tuple(vocabulary.fingerprints(run.folder)), files).save(run.folder)
