"""The examples of the kernel languages stand up to `oneop check`: gradients, opcheck, vmap, jvp, compile, jobs."""

import subprocess
from pathlib import Path

import pytest

from quick_python import command

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ALWAYS = ("opcheck", "vmap", "compile", "export", "job", "threads")
GRADIENTS = ("gradient", "second gradient", "graph gradient")


ALSO = {
    "numpy_op/softplus.py": (*GRADIENTS, "jvp"),
    "torch_op/gated.py": (*GRADIENTS, "jvp"),
    "inline_cpp/clip.py": GRADIENTS,
    "numba_op/running_max.py": (),
}


#: Each takes seconds for an example; among the quick tests an example meets one of them, by turns.
COSTLY = ("opcheck", "compile", "threads")


@pytest.mark.parametrize("path", ALSO)
def test_example_passes_what_it_shows(path):
    turn = COSTLY[list(ALSO).index(path) % len(COSTLY)]
    families = [name for name in (*ALWAYS, *ALSO[path]) if name not in COSTLY or name == turn]
    check(path, families, "--examples", "4", *(word for name in families for word in ("--only", name)))


@pytest.mark.slow
@pytest.mark.parametrize("path", ALSO)
def test_example_is_right(path):
    check(path, (*ALWAYS, *ALSO[path]))


def check(path, families, *options):
    if path.startswith("numba"):
        pytest.importorskip("numba")
    done = subprocess.run(
        [*command(), "-m", "oneop", "check", str(EXAMPLES / path), *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for name in families:
        assert any(line.startswith(f"  passed   {name} ") for line in lines), f"{name} did not pass:\n{done.stdout}"
