"""multihead itself, from ids to ids."""

import gc
from pathlib import Path

import torch
from worker import Ids, Translate, serve

from multihead.engines.choose import LatestStepper
from multihead.system import hardware, native
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.lines.batching import SourceLine, batch_by_length
from multihead.tasks.translation.lines.searching import collate_sources, search


def load(folder: Path, settings: dict[str, object]) -> Translate:
    """Lay out the model of the run in ``folder / "run"``."""
    hardware.keep_memory()
    gc.freeze()  # as the command line does
    torch.set_num_threads(int(str(settings["threads"])))
    translator = Translator.load(folder / "run", device=str(settings["device"]))
    target = translator.target_tokenizer
    level = native.level() if settings["native"] else ""
    in_bytes = settings["precision"] == "int8"
    dtype = hardware.pick_dtype("fp32" if settings["precision"] == "float32" else "auto", translator.device)
    latest = LatestStepper(translator.models[0], translator.device, torch.int8 if in_bytes else dtype)

    def translate(ids: Ids, beam: int) -> Ids:
        changed = {"beam_size": beam, "method": "beam" if beam > 1 else "greedy", "max_extra": 50}
        how = translator.settings.model_copy(update=changed)
        found: Ids = [[] for _ in ids]
        lines = [SourceLine("", one, (), index) for index, one in enumerate(ids)]
        with native.use(level), torch.inference_mode(), hardware.autocast(translator.device, dtype):
            for batch in batch_by_length(lines, int(str(settings["batch"]))):
                outputs = search(
                    latest.stepper(),
                    collate_sources(batch, pad_id=target.pad_id, eos_id=target.eos_id).to(translator.device),
                    [[target.bos_id]] * len(batch),
                    how,
                    target=target,
                    capacity=None,
                    numbers=[line.index for line in batch],
                )
                for line, hypotheses in zip(batch, outputs, strict=True):
                    found[line.index] = list(hypotheses[0].tokens)
        return found

    return translate


serve(load)
