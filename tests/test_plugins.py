"""Packages that bring ops, imported when an op is asked for: by threads, in circles, and when they misbehave."""

import sys
import threading

import pytest
import torch

import oneop
from oneop import plugins

DEFINE = """
import oneop
op = oneop.define("{0}(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
op.register_kernel("cpu")(lambda x: x * 2)
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(name, text) makes a package with an entry point of its name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def make(name, text):
        names.append(name)
        (tmp_path / f"{name}.py").write_text(text)
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[oneop.ops]\n{name} = {name}\n")

    yield make
    for name in names:
        sys.modules.pop(name, None)
        plugins._done.discard(name)


def in_threads(count, work):
    results, barrier = [None] * count, threading.Barrier(count)

    def run(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread hangs"
    return results


def test_threads_wait_for_the_one_that_imports(install, monkeypatch):
    """The import ends only when all other threads have asked: with one that did not wait, it would fail."""
    gate = threading.Barrier(8)
    monkeypatch.setattr(sys, "plugin_gate", gate, raising=False)
    install("tp_slow", "import sys\nsys.plugin_gate.wait(60)\n" + DEFINE.format("tp_slow"))
    asked = plugins.load_plugins

    def ask(name=None):
        if name == "tp_slow" and threading.current_thread() is not importer[0]:
            threading.Thread(target=gate.wait, args=(60,), daemon=True).start()
        return asked(name)

    importer = []
    monkeypatch.setattr(plugins, "load_plugins", ask)

    def use(i):
        if i == 0:
            importer.append(threading.current_thread())
        while not importer:
            pass
        return oneop.ops.tp_slow(torch.ones(2)).tolist()

    assert in_threads(8, use) == [[2.0, 2.0]] * 8


def test_a_package_that_asks_for_a_missing_op_hides_nothing(install):
    install("tp_asks", "import oneop\noneop.ops.tp_there_is_no_such_op\n")
    install("tp_brings", DEFINE.format("tp_brought"))
    with pytest.warns(UserWarning, match="tp_asks raised AttributeError|tp_asks raised OpNotFoundError"):
        assert oneop.ops.tp_brought(torch.ones(1)).tolist() == [2.0]


def test_two_packages_that_need_each_other(install):
    """The one that is imported first finds the op of the second; no order hangs."""
    install("tp_left", DEFINE.format("tp_left") + "oneop.ops.tp_right\n")
    install("tp_right", DEFINE.format("tp_right") + "oneop.ops.tp_left\n")
    names = ["tp_left", "tp_right"] * 3
    results = in_threads(6, lambda i: getattr(oneop.ops, names[i])(torch.ones(1)).tolist())
    assert results == [[2.0]] * 6


def test_a_package_imported_by_its_user_asks_for_its_own_op_too_early(install):
    install(
        "tp_early",
        "import oneop\ntry:\n    oneop.ops.tp_early\nexcept AttributeError:\n    pass\n" + DEFINE.format("tp_early"),
    )
    import tp_early

    assert tp_early.op(torch.ones(1)).tolist() == [2.0]
    assert oneop.ops.tp_early(torch.ones(1)).tolist() == [2.0]


@pytest.mark.parametrize(
    "text", ["raise SystemExit(3)", "import sys; sys.exit()", "1 / 0", "import no_such_module_here"]
)
def test_a_package_that_fails_is_a_warning(install, text):
    install("tp_fails", text)
    with pytest.warns(UserWarning, match="ops of tp_fails are not there: tp_fails raised "):
        assert plugins.load_plugins("tp_fails") == []
    with pytest.raises(AttributeError):
        oneop.ops.tp_fails  # noqa: B018


def test_an_interrupt_is_passed_on_and_the_package_is_tried_again(install):
    install(
        "tp_stop",
        "import sys\nif not hasattr(sys, 'tp_again'):\n    sys.tp_again = 1\n    raise KeyboardInterrupt\n"
        + DEFINE.format("tp_stop"),
    )
    with pytest.raises(KeyboardInterrupt):
        oneop.ops.tp_stop  # noqa: B018
    assert oneop.ops.tp_stop(torch.ones(1)).tolist() == [2.0]
    del sys.tp_again


def test_an_op_is_met_with_its_kernel_and_its_gradient(install, monkeypatch):
    """A package stops between an op's definition and its kernel; another thread that asks for the op waits."""
    defined, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "tp_halves", (defined, go_on), raising=False)
    install(
        "tp_halves",
        "import sys, oneop\n"
        'op = oneop.define("tp_halves(Tensor x) -> Tensor y", infer="elementwise")\n'
        "sys.tp_halves[0].set()\n"
        "assert sys.tp_halves[1].wait(60)\n"
        'op.register_kernel("cpu")(lambda x: x * 2)\n'
        "op.register_grad(lambda ctx, dy: dy * 7)\n",
    )
    results = []

    def call():
        x = torch.ones(1, requires_grad=True)
        oneop.ops.tp_halves(x).sum().backward()
        results.append(x.grad.item())

    importer = threading.Thread(target=plugins.load_plugins, args=("tp_halves",))
    importer.start()
    assert defined.wait(60)
    caller = threading.Thread(target=call)
    caller.start()
    caller.join(0.3)
    assert caller.is_alive() and not results
    go_on.set()
    importer.join(60)
    caller.join(60)
    assert results == [7.0]


def test_an_op_that_is_complete_does_not_wait_for_an_import(install, monkeypatch):
    """The import ends only after another thread has called an op that was there before: it would hang otherwise."""
    op = oneop.define("tp_complete(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu")(lambda x: x * 3)
    began, called = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "tp_long", (began, called), raising=False)
    install("tp_long", "import sys\nsys.tp_long[0].set()\nassert sys.tp_long[1].wait(60)\n" + DEFINE.format("tp_long"))
    importer = threading.Thread(target=plugins.load_plugins, args=("tp_long",))
    importer.start()
    assert began.wait(60)
    assert oneop.ops.tp_complete(torch.ones(1)).tolist() == [3.0]
    called.set()
    importer.join(60)
    assert oneop.ops.tp_long(torch.ones(1)).tolist() == [2.0]


def test_a_package_that_waits_for_its_own_threads_does_not_hang(install, monkeypatch):
    """While it is imported it calls its op in another thread, and joins that."""
    monkeypatch.setattr(plugins, "PATIENCE", 0.2)
    install(
        "tp_pool",
        "import threading, torch\n"
        + DEFINE.format("tp_pool")
        + "results = []\n"
        + "thread = threading.Thread(target=lambda: results.append(oneop.ops.tp_pool(torch.ones(1)).item()))\n"
        + "thread.start()\nthread.join(60)\nassert results == [2.0], results\n",
    )
    assert plugins.load_plugins("tp_pool") == ["tp_pool"]
