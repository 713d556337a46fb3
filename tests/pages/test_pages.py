"""Op cards, plan pages, plots and the documentation, 400 and 1600 px wide, light and dark, in a real browser.

Nothing sticks out, letters are large and dark enough, and what scrolls can be scrolled by the keyboard: see look.js.
"""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import oneop
from oneop import typing as tp
from oneop.benchmark import bench
from oneop.benchmark.plot import svg
from oneop.card import collect, render, render_index
from oneop.registry import isolated

from .browser import SCHEMES, WIDTHS, Browser, find_browser

ROOT = Path(__file__).parents[2]
LOOKS = [(width, scheme) for width in WIDTHS for scheme in SCHEMES]
MOST_BYTES = 200_000
HEAD = (
    '<!doctype html><meta name="viewport" content="width=device-width">'
    "<style>:root { color-scheme: light dark }</style>"
)


@pytest.fixture(scope="module")
def browser():
    program = find_browser()
    if program is None:
        pytest.skip("needs chromium")
    with Browser(program) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write a page of each kind, of ops with long names, long paths and all outcomes of a check."""
    folder = tmp_path_factory.mktemp("a_folder_with_a_rather_long_name_in_which_pages_are_written")
    with isolated():
        op = oneop.define(
            "page_of_an_op_with_a_long_name(Tensor first, Tensor second, *, float slope=0.25, int[] sizes=[1, 2, 3])"
            " -> Tensor y",
            infer="elementwise",
            doc="Says what the op computes, in a sentence that is longer than a line of a narrow screen.",
        )
        op.register_kernel("cpu", dtypes=(torch.float32, torch.float64))(
            lambda first, second, slope, sizes: first * second
        )
        op.register_grad(lambda ctx, dy: (dy * ctx.second, dy))  # the second is wrong
        oneop.testing.reference(op)(lambda first, second, slope=0.25, sizes=(1, 2, 3): first * second)
        measured = bench(op, sizes=(10, 100, 1000, 10_000), seconds=0.002)
        cards = [
            ("wrong.html", collect(op, bench=False)),
            ("plain.html", replace(collect(op, check=False, bench=False), bench=measured)),
        ]
        for name, card in cards:
            (folder / name).write_text(render(card))
        (folder / "index.html").write_text(render_index(cards))
        plot = svg(measured)
        style = "<style>svg { max-width: 100%; height: auto }</style>"
        (folder / "plot.html").write_text(f"{HEAD}{style}{plot}")
        write_plan(op, folder / "plan.html")
    return folder


def write_plan(op, path):
    @oneop.global_function(type="train", name="a_job_with_a_long_name_that_classifies_pictures")
    def job(x: tp.Numpy.Placeholder((16, 20)), t: tp.Numpy.Placeholder((16,), dtype=oneop.int64)) -> tp.Numpy:
        w = oneop.get_variable("w", (10, 20), initializer=oneop.random_normal_initializer())
        hidden = F.linear(x, w)
        loss = F.cross_entropy(op(hidden, hidden), t)
        oneop.optimizer.SGD(0.1, momentum=0).minimize(loss)
        return loss

    job.plan().to_html(path)


@pytest.mark.parametrize("width, scheme", LOOKS)
@pytest.mark.parametrize("kind", ["wrong", "plain", "index", "plot", "plan"])
def test_page(browser, pages, kind, width, scheme):
    page = pages / f"{kind}.html"
    assert page.stat().st_size < MOST_BYTES
    assert browser.faults(page, width, scheme) == []


FAULTS = {
    "wider than the screen": '<p style="width: 2000px">text</p>',
    "it has no viewport": "no head",
    "contrast": '<p style="color: #888">text</p>',
    "contrast 1.": '<svg role="img" aria-label="x" width="200" height="50"><rect width="200" height="50" '
    'fill="CanvasText"/><text x="9" y="20" fill="CanvasText">text</text></svg>',
    "letters of": '<p style="font-size: 8px">text</p>',
    "letters of 6": '<svg role="img" aria-label="x" viewBox="0 0 400 40" width="200"><text y="20" '
    'font-size="12" fill="currentColor">text</text></svg>',
    "outside of its picture": '<svg role="img" aria-label="x" width="50" height="40"><text x="40" y="20" '
    'fill="currentColor">text</text></svg>',
    "on top of": '<svg role="img" aria-label="x" width="90" height="40"><text y="20" fill="currentColor">text</text>'
    '<text x="9" y="20" fill="currentColor">other</text></svg>',
    "the keyboard cannot scroll it": '<div style="overflow-x: auto"><p style="width: 2000px">text</p></div>',
    "scrolls, and has no name": '<div tabindex="0" style="overflow-x: auto"><p style="width: 2000px">text</p></div>',
    "a picture without a name": '<svg role="img" width="50" height="40"></svg>',
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_noticed(browser, tmp_path, fault):
    page = tmp_path / "page.html"
    text = FAULTS[fault]
    page.write_text("<!doctype html><p>text" if text == "no head" else HEAD + text)
    noticed = browser.faults(page, 400, "light")
    assert any(fault in line for line in noticed), noticed


def test_a_plain_page_has_none(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f"{HEAD}<h1>text</h1><p>text <a href='x'>link</a></p>")
    for width, scheme in LOOKS:
        assert browser.faults(page, width, scheme) == []
