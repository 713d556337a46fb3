"""The first use of oneop from several threads: the core is loaded once, and every hook has run before anyone has it.

Most programs are forks of a process that has imported torch, not oneop: the first use of oneop is what they are about.
One of each kind runs in the ordinary interpreter, where oneop imports more of torch by itself.
"""

import subprocess
import sys
import textwrap

import pytest

import oneop
from oneop.runtime import core as _runtime
from quick_python import command

THREADS = """
import sys, threading
import torch, oneop
from oneop.runtime import core as _runtime
import oneop._build.core

loaded, paths, real = [], [], oneop._build.core.core_path
def core_path(*arguments, **options):
    paths.append(threading.get_ident())
    return real(*arguments, **options)
oneop._build.core.core_path = core_path
def hook(core):
    assert _runtime.core() is core  # hooks may ask for it
    loaded.append(core)
    if len(loaded) == 1:
        _runtime.after_loading(loaded.append)  # and add hooks
_runtime.after_loading(hook)

sys.setswitchinterval(1e-5)
barrier, results = threading.Barrier(8), []
def use(i):
    barrier.wait()
    try:
        if i % 2:
            _runtime.after_loading(lambda core: None)
        core = _runtime.core()
        assert len(loaded) == 2, loaded  # all hooks have run
        assert core.op_names() is not None
        op = oneop.define(f"first_use{i}(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
        op.register_kernel("cpu")(lambda x: x + i)
        results.append(op(torch.zeros(1)).item() == i and len(oneop.list_ops()) > 0)
    except BaseException as error:
        results.append(repr(error))
threads = [threading.Thread(target=use, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join(120)
print(results == [True] * 8 or results, len(set(map(id, loaded))), len(paths))
"""


def run(program, *arguments, python=None):
    """Run a program, in a fork if no interpreter is given."""
    words = [*([python] if python else command()), "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("python", [sys.executable, None, None], ids=["ordinary", "fork", "another"])
def test_eight_threads_load_the_core_once(python):
    result = run(THREADS, python=python)
    assert result.stdout == "True 1 1\n", result.stdout + result.stderr[-2000:]


def test_a_hook_that_fails_does_not_leave_half_a_core():
    code = """
        from oneop.runtime import core as _runtime
        tries = []
        def hook(core):
            tries.append(core)
            if len(tries) == 1:
                raise RuntimeError("not yet")
        _runtime.after_loading(hook)
        try:
            _runtime.core()
        except RuntimeError as error:
            print(error)
        print(_runtime.core() is tries[1], len(tries))
    """
    result = run(code)
    assert result.stdout == "not yet\nTrue 2\n", result.stderr[-2000:]


@pytest.fixture
def told(monkeypatch):
    """What the core is told."""
    calls = []
    core = _runtime.core()
    proxy = type("Core", (), {"__getattr__": lambda self, name: getattr(core, name)})()
    proxy.set_cpu_fallback = lambda on: calls.append(("cpu_fallback", on))
    proxy.set_kernel_sync = lambda on: calls.append(("sync_kernels", on))
    monkeypatch.setattr(_runtime, "_ready", proxy)
    return calls


def test_a_setting_takes_effect_after_the_core_is_loaded(told):
    oneop.settings.cpu_fallback = True
    del oneop.settings.cpu_fallback
    with oneop.settings.override(sync_kernels=True, cpu_fallback=True):
        assert told[-2:] == [("sync_kernels", True), ("cpu_fallback", True)]
    assert told == [
        ("cpu_fallback", True),
        ("cpu_fallback", False),
        ("sync_kernels", True),
        ("cpu_fallback", True),
        ("sync_kernels", False),
        ("cpu_fallback", False),
    ]


def test_config_and_settings_are_one_switch(told):
    oneop.config.cpu_fallback(True)
    assert oneop.settings.cpu_fallback is True
    oneop.settings.cpu_fallback = False
    oneop.config.sync_kernels(True)
    oneop.config.sync_kernels(False)
    assert told == [("cpu_fallback", True), ("cpu_fallback", False), ("sync_kernels", True), ("sync_kernels", False)]
    del oneop.settings.cpu_fallback, oneop.settings.sync_kernels


def test_an_override_puts_back_only_what_it_set():
    with oneop.settings.override(verbose=True):
        oneop.settings.max_jobs = 3
    assert oneop.settings.max_jobs == 3
    del oneop.settings.max_jobs
    with (
        pytest.raises(AttributeError, match="did you mean 'verbose'"),
        oneop.settings.override(max_jobs=2, verbos=True),
    ):
        pass
    assert "max_jobs" not in oneop.settings._assigned


INSIDE = """
import warnings
warnings.simplefilter("error", RuntimeWarning)
# Torch says that its guards are slower on Python 3.13.0 than on 3.13.1.
warnings.filterwarnings("ignore", "Guards may run slower on Python")

import torch, oneop, torch.distributed.tensor
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

def define():
    op = oneop.define("first_inside(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu")(lambda x: x + 1)
    return op

def inside(x):
    define()
    return oneop.ops.first_inside(x)

x, ops = torch.ones(3), oneop.ops
print({case})
assert torch.equal(ops.first_inside(x), x + 1)
"""


@pytest.mark.parametrize(
    ("case", "expected"),
    {
        "FakeTensorMode().__enter__() and inside(torch.ones(3)).shape": "torch.Size([3])",
        "make_fx(inside, tracing_mode='fake')(x)(x)": "tensor([2., 2., 2.])",
        "oneop.compile_job(inside, (x,))(x)": "tensor([2., 2., 2.])",
        "torch.compile(inside, backend='aot_eager')(x)": "tensor([2., 2., 2.])",
        "torch.vmap(inside)(x)": "tensor([2., 2., 2.])",
        "torch.device('meta').__enter__() and inside(x)": "tensor([2., 2., 2.])",
        "torch.set_default_device('meta') or inside(x)": "tensor([2., 2., 2.])",
        "torch.inference_mode().__enter__() or inside(x)": "tensor([2., 2., 2.])",
    }.items(),
)
def test_an_op_may_be_defined_inside_a_trace(case, expected):
    """The DTensor adapter starts with the first op. What it tries out is no part of the caller's trace or device."""
    body = INSIDE.format(case=case)
    if "__enter__" in case or "default_device" in case:
        body = body.replace("assert ", "# ")
    result = run(body, python=sys.executable if "default_device" in case else None)
    assert result.stdout.strip() == expected, result.stdout + result.stderr[-2000:]


def test_torch_compile_does_not_look_into_kernels_and_gradients():
    """After a graph break torch.compile sees each Python frame, also those that the core calls."""
    code = """
        import torch, oneop
        seen = []

        def kernel(x):
            seen.append(("kernel", torch.compiler.is_compiling()))
            return inner(x)

        def inner(x):
            return x * 2

        op = oneop.define("looked_into(Tensor x) -> Tensor y", infer="elementwise")
        op.register_kernel("cpu", language="torch")(kernel)

        other = oneop.define("looked_into_too(Tensor x) -> Tensor y", infer="elementwise")
        other.register_kernel("cpu")(lambda x: x * 2)

        @other.register_grad
        def grad(ctx, dy):
            seen.append(("grad", torch.compiler.is_compiling()))
            return dy * 2

        @torch.compile(backend="eager")
        def run(x):
            for _ in range(1):
                try:  # a break in here makes the compiler leave this frame alone, and look at those below it
                    torch._dynamo.graph_break()
                    y = oneop.ops.looked_into_too(oneop.ops.looked_into(x)).sum()
                    y.backward()
                finally:
                    seen.append(("run", False))

        x = torch.ones(3, requires_grad=True)
        run(x)
        print(x.grad, {place for place, compiling in seen if compiling})
        counts = torch._dynamo.testing.CompileCounter()
        print(torch.compile(kernel, backend=counts)(x.detach()), counts.frame_count > 0)  # the author's own is compiled
    """
    result = run(code)
    assert result.stdout == "tensor([4., 4., 4.]) set()\ntensor([2., 2., 2.]) True\n", result.stderr[-2000:]


def test_the_first_use_of_the_core_warns():
    program = (
        "import torch, warnings; torch.__version__ = '2.99.0'\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import oneop; oneop.list_ops(); oneop.list_ops()\n"
        "print([str(w.message)[:39] for w in caught])"
    )
    result = run(program)
    assert result.stdout == "['oneop is not tested with torch 2.99.0, ']\n", result.stderr


BROKEN = """
import json, pathlib, sys, warnings, torch
import oneop._build.prebuilt as prebuilt
from oneop._build.sources import sha_of
from oneop._build.torch_install import find_torch

prebuilt.CORES = pathlib.Path(sys.argv[1])
torch_here = find_torch()
core = prebuilt.CORES / torch_here.minor / prebuilt.core_file_name()
core.parent.mkdir(parents=True)
core.write_bytes(b"no shared object")
facts = {**prebuilt._what_must_fit(torch_here), "sha": sha_of(core) if sys.argv[2] == "bad" else "another"}
(core.parent / "core.json").write_text(json.dumps(facts))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import oneop
    oneop.list_ops()
print("\\n".join(str(warning.message).replace(str(core), "CORE") for warning in caught))
assert "_cores" not in sys.modules["oneop._core"].__file__
"""


@pytest.mark.parametrize(
    ("how", "reason"),
    [("bad", "CORE cannot be loaded: CORE: file too short"), ("cut", "CORE is missing or damaged")],
)
def test_a_broken_core_of_a_wheel_is_told_and_another_is_used(tmp_path, how, reason):
    result = run(BROKEN, tmp_path / "_cores", how)
    assert result.stdout == (
        f"the compiled core of this wheel is not used: {reason}\n"
        "  it is built from source instead, which takes minutes; install oneop again\n"
    ), result.stderr
