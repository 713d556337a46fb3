"""`oneop completion`: what a shell needs to complete commands and options. It is made from the parser."""

from __future__ import annotations

import argparse
from typing import Any

from oneop.cli.output import add_command


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "completion",
        "print the completion of a shell",
        'eval "$(oneop completion bash)"      # in ~/.bashrc\n'
        "oneop completion zsh > ~/.zfunc/_oneop\n"
        "oneop completion fish > ~/.config/fish/completions/oneop.fish",
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(run=run)


def words_of(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return for each command its options and commands of its own; "" is the top."""
    words_by_command: dict[str, list[str]] = {}

    def visit(name: str, parser: argparse.ArgumentParser) -> None:
        words = []
        for action in parser._actions:
            words += [option for option in action.option_strings if option.startswith("--")]
            if isinstance(action, argparse._SubParsersAction):
                for child, sub in action.choices.items():
                    words.append(child)
                    visit(f"{name} {child}".strip(), sub)
            elif action.choices is not None and not action.option_strings:
                words += [str(choice) for choice in action.choices]
        words_by_command[name] = words

    visit("", parser)
    return words_by_command


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    words = words_of(options.parser)
    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](words))
    return 0


def bash(words: dict[str, list[str]]) -> str:
    """Return the script for bash."""
    tops = "\n".join(
        f'      {name}) words="{" ".join(values)}" ;;' for name, values in words.items() if name and " " not in name
    )
    cases = "\n".join(f'    "{name}") words="{" ".join(values)}" ;;' for name, values in words.items() if name)
    return f"""_oneop() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" path="" i words="{" ".join(words[""])}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in -*) ;; *) path="${{path:+$path }}${{COMP_WORDS[i]}}" ;; esac
  done
  case "$path" in
{cases}
    "") ;;
    *) case "${{path%% *}}" in
{tops}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _oneop oneop"""


def zsh(words: dict[str, list[str]]) -> str:
    """Return the script for zsh, which takes that of bash."""
    return f"#compdef oneop\nautoload -U +X bashcompinit && bashcompinit\n{bash(words)}"


def fish(words: dict[str, list[str]]) -> str:
    """Return the script for fish."""
    lines = [
        "complete -c oneop -n __fish_use_subcommand -f -a '{}'".format(" ".join(w for w in words[""] if w[0] != "-"))
    ]
    for name, values in words.items():
        if name and " " not in name:
            for value in values:
                what = f"-l {value[2:]}" if value.startswith("--") else f"-a {value}"
                lines.append(f"complete -c oneop -n '__fish_seen_subcommand_from {name}' {what}")
    return "\n".join(lines)
