"""Makes a training longer that has cooled down: it goes on from the state before (schedule wsd).

At the end of a cool-down the learning rate is 0, and more updates would change nothing. The state at its
beginning, where the rate was still constant, is therefore kept (Hu et al. 2024, sec. 4).
"""

from collections.abc import Mapping
from typing import Any

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.run import Run, tensors
from multihead.run.checkpoints import BEST, SCHEDULED, STATE, checkpoint_name
from multihead.run.names import WEIGHTS
from multihead.training.ending import BOUND, TIME, TIME_UP
from multihead.training.progress import TrainingProgress

EARLIER = "earlier"
"""Checkpoint of the model that was selected before the training was made longer."""
INIT = "Start another run from its weights: --init RUN --run ANOTHER."


def go_back(run: Run, before: OptimisationSettings, now: OptimisationSettings) -> bool:
    """Prepare a run that has ended, or is cooling down, for more updates: remove the cool-down's states.

    The model selected before stays in use until the longer training has ended, and may be selected again.

    Args:
        run: the run folder, locked.
        before: the settings that it was trained with.
        now: the new settings.

    Returns:
        True if there was an end to take back; False if the training goes on, or has made its steps or more.

    Raises:
        UserError: it would end again where it has ended; the state before the cool-down is missing or
            damaged. Nothing has changed then.
    """
    found = run.load_state()
    meta: Mapping[str, Any] = found[1] if found else {}
    why = meta.get("ending") or meta.get("stopped")
    if not why or now.steps < meta["step"]:
        return False
    _refuse_the_same_end(run, why, before, now)
    step = meta["cooldown"][0] if meta["ending"] else meta["step"]
    state = checkpoint_name(STATE, step)
    if not run.path_of(state).exists():
        fact = f"the state before its cool-down, after step {step:,}, is not there"
        raise UserError(fact, place=str(run.folder), remedy=INIT)
    run.load_tensors(state)
    if not run.model_fault():
        run.save_tensors(EARLIER, tensors.load(run.folder / WEIGHTS)[0], {"step": meta["step"]})
    run.go_back_to(step)
    return True


def reopen(run: Run, progress: TrainingProgress) -> None:
    """Forget the cool-down in a restored progress, and what it has replaced; patience counts anew."""
    progress.cooldown, progress.ending, progress.stopped = (0, 0), "", ""
    progress.without_gain, progress.gain_step = 0, progress.step
    there = set(run.checkpoints())
    progress.scheduled = [step for step in progress.scheduled if checkpoint_name(SCHEDULED, step) in there]
    if BEST not in there or run.load_tensors(BEST)[1].get("step") != progress.best_step:
        progress.best, progress.best_step, progress.best_loss = None, 0, None


def way_on(why: str) -> str:
    """Return the options that continue a training which has ended for a reason."""
    if why.startswith(BOUND):
        return "--training.steps N"
    return "--minutes N" if why.startswith((TIME, TIME_UP)) else "--longer"


def _refuse_the_same_end(run: Run, why: str, before: OptimisationSettings, now: OptimisationSettings) -> None:
    if why.startswith(BOUND) and now.steps <= before.steps:
        fact = f"it has made all {before.steps:,} updates"
    elif why.startswith((TIME, TIME_UP)) and 0 < now.minutes <= before.minutes:
        fact = f"it has taken its {before.minutes:g} minutes"
    else:
        return
    raise UserError(fact, place=str(run.folder), remedy=f"Give more: {way_on(why)}.")
