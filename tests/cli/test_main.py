"""The parser, exit statuses, start-up."""

import json
import subprocess
import sys

import pytest

from oneop._build.cache import KINDS
from oneop.cli.main import make_parser


def test_help_lists_commands_and_examples(oneop):
    status, out, _ = oneop("--help")
    assert status == 0
    for word in ("new", "check", "bench", "card", "cache", "info", "completion", "examples:", "exit status"):
        assert word in out


@pytest.mark.parametrize("act", ["list", "clear"])
def test_every_kind_of_the_cache_may_be_chosen(oneop, act):
    assert f"only this kind: {', '.join(KINDS)}" in " ".join(oneop("cache", act, "--help")[1].split())


@pytest.mark.parametrize("command", ["new", "build", "list", "show", "check", "bench", "card", "gen", "run", "info"])
def test_every_command_has_examples(oneop, command):
    status, out, _ = oneop(command, "--help")
    assert status == 0 and "examples:\n  oneop " in out


def test_help_fits_a_terminal(oneop, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    commands = next(action for action in make_parser()._actions if action.dest == "command").choices
    words = [[], *([command] for command in commands), *(["cache", act] for act in ("list", "clear", "why"))]
    lines = [(command, line) for command in words for line in oneop(*command, "--help")[1].splitlines()]
    assert [(command, line) for command, line in lines if len(line) > 80] == []


def test_no_torch_before_it_is_needed():
    program = "import sys, oneop.cli.main as m; m.make_parser().format_help(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_module_and_command_are_the_same(process):
    result = process("--version")
    assert result.returncode == 0 and result.stdout.startswith("oneop 0.")


def test_usage_is_2_and_problems_are_1(oneop):
    status, out, err = oneop("chekc")
    assert (status, out) == (2, "") and max(map(len, err.splitlines())) <= 80
    assert err.startswith('oneop: there is no command "chekc", did you mean "check"?\n  there are: new, build, ')
    assert oneop("bench", "--sizes", "many")[0] == 2
    status, out, err = oneop("show", "no_such_op")
    assert (status, out) == (2, "")
    assert err == (
        'oneop show: there is no op and no file "no_such_op"\n'
        "  ops that no installed package brings are loaded first: --load PATH\n"
    )


def test_completion_knows_every_command(oneop):
    commands = next(action for action in make_parser()._actions if action.dest == "command").choices
    for shell in ("bash", "zsh", "fish"):
        status, out, _ = oneop("completion", shell)
        assert status == 0
        for command in commands:
            assert command in out
    assert oneop("completion", "tcsh")[0] == 2


def test_completion_of_bash_works(oneop, tmp_path):
    (tmp_path / "complete.sh").write_text(oneop("completion", "bash")[1])
    script = 'source complete.sh; COMP_WORDS=(oneop cache ""); COMP_CWORD=2; _oneop; echo "${COMPREPLY[*]}"'
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {"list", "clear", "why"} <= set(result.stdout.split())


def test_json_is_json(oneop, leaky_relu):
    for arguments in (
        ["list", "--json", "--coverage", "--load", leaky_relu],
        ["show", leaky_relu, "--json"],
        ["info", "--json"],
        ["config", "--json"],
        ["cache", "list", "--json"],
    ):
        status, out, _ = oneop(*arguments)
        assert status == 0 and json.loads(out)


def test_tables_fit_a_terminal_and_are_whole_in_a_pipe(monkeypatch):
    from oneop.cli import output

    rows = [["leaky_relu", "cpu: float32, float64; cuda: float16, float32, float64", "a/" * 40 + "leaky_relu.cpp:12"]]
    whole = output.table(rows, header=["op", "kernels", "place"], indent="  ")
    assert len(whole.splitlines()) == 2 and rows[0][2] in whole
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(output.sys.stdout, "isatty", lambda: True, raising=False)
    lines = output.table(rows, header=["op", "kernels", "place"], indent="  ").splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 80 and lines[1].startswith("  leaky_relu  cpu:")
    assert "".join(line[12:].strip() for line in lines).count("a/") >= 30


def test_no_color(monkeypatch):
    from oneop.cli import output

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert output.paint("x", "red", stream=Terminal()) == "\033[31mx\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.paint("x", "red", stream=Terminal()) == "x"
