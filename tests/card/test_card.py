"""Op cards, looked at in a browser."""

import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import oneop
from oneop.card import collect, render
from oneop.cli.main import main
from oneop.registry import isolated

LEAKY_RELU = Path(__file__).parents[2] / "examples/leaky_relu/leaky_relu.cpp"


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


@pytest.fixture
def brief_checks(monkeypatch):
    """Have a card's check try few calls, and leave out what takes long: the page is what is looked at."""
    from oneop.card import facts

    brief = functools.partial(facts.run_check, examples=4, skip=["opcheck", "compile", "inference", "determinism"])
    monkeypatch.setattr(facts, "run_check", brief)


def dom_of(page, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    command = [chromium, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def section(dom, name):
    return re.search(rf'<section id="{name}">(.*?)</section>', dom, re.DOTALL)[1]


def test_card_in_a_browser(tmp_path, brief_checks):
    oneop.load("leaky_relu_example", [LEAKY_RELU])
    oneop.testing.reference("leaky_relu")(lambda x, alpha=0.01: torch.nn.functional.leaky_relu(x, alpha))
    page = tmp_path / "card.html"
    page.write_text(render(collect("leaky_relu")))
    assert not re.search(r'(src|href)="', page.read_text())  # needs nothing else
    dom = dom_of(page, tmp_path)
    assert "oneop::leaky_relu(Tensor x, *, float alpha" in section(dom, "schema")
    assert "alpha" in section(dom, "attributes")
    kernels = section(dom, "kernels")
    assert kernels.count("<tr>") == 3 and "leaky_relu.cpp:" in kernels and "REGISTER" in kernels
    gradient = section(dom, "gradient")
    assert gradient.count('class="node"') >= 3 and "leaky_relu_grad" in gradient and 'class="edge"' in gradient
    checks = section(dom, "checks")
    assert checks.count('class="passed"') >= 15 and 'class="failed"' not in checks
    speed = section(dom, "speed")
    assert speed.count('class="roofline"') == 2 and "reference" in speed and "✓" in speed


def test_card_of_a_wrong_op_shows_the_failure(tmp_path, brief_checks):
    op = oneop.define("card_wrong(Tensor x) -> Tensor y", infer="elementwise", doc="A square, nearly.")
    op.register_kernel("cpu", dtypes=torch.float64)(lambda x: x * x)
    op.register_grad(lambda ctx, dy: dy)
    page = render(collect(op))
    assert "A square, nearly." in page and "the gradient of input &quot;x&quot; differs" in page
    assert "not measured: the op fails its check" in page


def test_index_of_all(tmp_path, capsys):
    loaded = ["--load", str(LEAKY_RELU), "--no-check", "--no-bench"]
    assert main(["card", "--all", *loaded, "-o", str(tmp_path / "cards")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "cards/index.html")
    index = (tmp_path / "cards/index.html").read_text()
    assert 'href="leaky_relu.html"' in index and (tmp_path / "cards/leaky_relu_grad.html").is_file()
