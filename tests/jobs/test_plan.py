"""Plans: what they say, how much memory they need, and their page in a real browser."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError
from oneop.jobs.planning.plan_view import PlanView


@pytest.fixture
def job(leaky_relu):
    @oneop.global_function(type="train")
    def mlp(x: tp.Numpy.Placeholder((16, 20)), t: tp.Numpy.Placeholder((16,), dtype=oneop.int64)) -> tp.Numpy:
        w = oneop.get_variable("w", (10, 20), initializer=oneop.random_normal_initializer())
        loss = F.cross_entropy(leaky_relu(F.linear(x, w), alpha=0.1), t)
        oneop.optimizer.SGD(0.1, momentum=0).minimize(loss)
        return loss

    return mlp


def test_text(job):
    text = str(job.plan())
    assert text.startswith("job mlp on cpu: ")
    assert "each buffer on its own" in text and "at least" in text
    assert re.search(r"kernel\s+oneop::leaky_relu\s+float32\[16, 10\]\s+\+\d+\s+\d+-\d+\s+.*leaky_relu\.cpp:\d+", text)
    assert "aten._fused_sgd_.tensor_lr" in text


def test_profile(job):
    profile = job.profile(3)
    assert len(profile.steps) == len(job.plan().plan.steps)
    assert profile.seconds > 0 and profile.bandwidth > 1e8
    assert all(0 < step.seconds <= step.median for step in profile.steps)
    assert "of copy speed" in str(profile) and "median us" in str(profile)
    with pytest.raises(ArgumentError, match="expected at least one run to profile, found 0"):
        job.profile(0)


def test_profile_warms_up_and_takes_least_and_median(job, monkeypatch):
    compiled = job.compile()
    columns = len(compiled.time_steps(1)[0])
    monkeypatch.setattr("oneop.jobs.planning.profile.measure_bandwidth", lambda: 1e9)
    monkeypatch.setattr(compiled, "time_steps", lambda count: [[float(s)] * columns for s in (5, 2, 3)])
    starts = [0, *compiled.bound.ends]
    for step, start, end in zip(job.profile(3).steps, starts, starts[1:], strict=False):
        assert (step.seconds, step.median) == (2 * (end - start), 3 * (end - start))


def test_other_backends_have_no_plan():
    @oneop.global_function(backend="eager")
    def job(x: tp.Numpy.Placeholder((4,))) -> tp.Numpy:
        return x * 2

    with pytest.raises(ArgumentError, match='runs on the backend "eager", which makes no plan'):
        job.plan()


def test_page_in_a_browser(job, tmp_path):
    page = job.plan().to_html(tmp_path / "plan.html")
    assert not re.search(r'(src|href)="', page.read_text())  # needs nothing else
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    command = [chromium, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    steps = len(job.plan().plan.steps)
    assert len(re.findall("<tr>", dom)) == steps + 1
    assert dom.count('class="node"') >= steps
    assert dom.count("<rect") == len(job.plan().plan.buffers)
    assert "Plan of job mlp" in dom


def test_memory_of_a_deep_train_job(leaky_relu):
    layers, width = 50, 64

    def forward(x, weights):
        for w in weights:
            x = leaky_relu(F.linear(x, w), alpha=0.1)
        return x.square().mean()

    @oneop.global_function(type="train")
    def deep(x: tp.Numpy.Placeholder((32, width))) -> tp.Numpy:
        init = oneop.random_normal_initializer(stddev=width**-0.5)
        loss = forward(x, [oneop.get_variable(f"w{i}", (width, width), initializer=init) for i in range(layers)])
        oneop.optimizer.SGD(0.01, momentum=0).minimize(loss)
        return loss

    memory = deep.plan().plan.memory
    assert memory.size <= 1.1 * memory.lower_bound
    assert memory.size < eager_peak(forward, layers, width)
    assert np.isfinite(deep(np.ones((32, width), np.float32)))


def eager_peak(forward, layers, width):
    """The most bytes that torch's eager step has alive beyond weights and input."""
    weights = [torch.randn(width, width, requires_grad=True) for _ in range(layers)]
    x = torch.ones(32, width)
    with torch.profiler.profile(profile_memory=True, record_shapes=False) as profile:
        forward(x, weights).backward()
    alive = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            alive += event.nbytes()
            most = max(most, alive)
    return most


def test_dead_and_common_code_is_dropped(leaky_relu):
    def body(x):
        unused = torch.sin(x)  # noqa: F841
        return torch.cos(x) + torch.cos(x), x.detach()

    job = oneop.compile_job(body, [torch.zeros(4)])
    names = [step.name for step in job.compiled.plan.steps]
    assert names == ["aten.cos.default", "aten.add.Tensor"]


def test_no_step_allocates(leaky_relu):
    def body(x):
        for _ in range(3):
            x = leaky_relu(F.linear(x, x), alpha=0.1) * 0.5
        return x

    job = oneop.compile_job(body, [torch.zeros(16, 16)])
    job(torch.zeros(16, 16))
    with torch.profiler.profile(profile_memory=True) as profile, job.compiled.gate:
        job.compiled.bound.run()
    sizes = [e.nbytes() for e in profile.profiler.kineto_results.events() if e.name() == "[memory]" and e.nbytes() > 0]
    assert not [size for size in sizes if size >= 16 * 16 * 4]


def test_page_says_how_the_plan_is_run(tmp_path):
    job = oneop.compile_job(lambda x: x * 2, [torch.zeros(3)])
    view = PlanView(job.compiled.plan, "no CUDA graph: step 0, mul, runs on the cpu")
    assert str(view).splitlines()[1] == view.note
    assert f"<p>{view.note}</p>" in view.to_html(tmp_path / "plan.html").read_text()


def test_the_picture_of_the_readme_is_current():
    root = Path(__file__).parents[2]
    tool = runpy.run_path(str(root / "tools/readme_picture.py"))
    committed = (root / "docs/plan.svg").read_text()
    assert tool["picture_of"](tool["make_page"]()) == committed, "python -m tools.readme_picture docs/plan.svg"
    assert len(committed) < 200_000 and ElementTree.fromstring(committed).tag.endswith("svg")
    assert "picture_swish" in committed and "file" not in committed
