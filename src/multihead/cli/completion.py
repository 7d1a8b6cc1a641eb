"""Print a script that completes commands and options in a shell.

    multihead completion bash > ~/.multihead.sh
    multihead completion zsh > ~/.multihead.sh
    multihead completion fish > ~/.config/fish/completions/multihead.fish

bash and zsh read it by `source ~/.multihead.sh` in ~/.bashrc or ~/.zshrc, fish
by itself. It completes commands, their options, recipes and files.
Write it again after an upgrade.
"""

import contextlib
import io
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from multihead import cli
from multihead.cli import _options
from multihead.errors import UserError
from multihead.recipe import built_in as recipes

WITH_RECIPES = ("recipes", "train")
"""Commands whose positional argument may be a recipe."""

_OPTION = re.compile(r"(?<![\w`-])--[a-z][\w.-]*[\w]")

BASH = """\
_multihead() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  else
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _multihead multihead
"""

ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
"""Lines by which zsh reads a script for bash."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    shell: Annotated[Literal["bash", "zsh", "fish"], _options.POSITIONAL, _options.Option(metavar="SHELL")]
    """Shell."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    sys.stdout.write(script(options.shell, {name: options_of(name) for name in cli.commands()}))
    return 0


def options_of(command: str) -> list[str]:
    """Return the options that a command's help lists; none if an extra that it needs is not installed."""
    help_text = io.StringIO()
    with contextlib.redirect_stdout(help_text), contextlib.suppress(SystemExit, UserError):
        cli.run_command(command, ["--help-all"])
    epilogues = re.findall(r"\A.*?(?=^usage:)|\Z", help_text.getvalue(), re.DOTALL | re.MULTILINE)
    return sorted(set(_OPTION.findall(help_text.getvalue().removeprefix(epilogues[0]))))


def script(shell: str, options: Mapping[str, Sequence[str]]) -> str:
    """Return the script for a shell.

    Args:
        shell: bash, zsh or fish.
        options: options by command.
    """
    names = sorted(recipes.names())
    words = {
        name: [*(names if name in WITH_RECIPES else ()), *spellings] for name, spellings in options.items()
    }
    if shell == "fish":
        return _fish(options, names)
    cases = "\n".join(f'      {name}) words="{" ".join(of)}" ;;' for name, of in words.items())
    return (ZSH if shell == "zsh" else "") + BASH.format(commands=" ".join(options), cases=cases)


def _fish(options: Mapping[str, Sequence[str]], names: Sequence[str]) -> str:
    about = cli.commands()
    lines = []
    for name, spellings in options.items():
        text = about[name].replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c multihead -n __fish_use_subcommand -f -a {name} -d '{text}'")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c multihead {seen} -l {option.removeprefix('--')}" for option in spellings]
        if name in WITH_RECIPES:
            lines.append(f"complete -c multihead {seen} -a '{' '.join(names)}'")
    return "\n".join(lines) + "\n"
