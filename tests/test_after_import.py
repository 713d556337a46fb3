"""Hooks that run once a module has been imported."""

import importlib
import inspect
import sys
import threading

import pytest

from oneop.runtime.after_import import after_import


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("imported_late")]:
        del sys.modules[name]


def test_hooks_run_after_the_module_in_order(folder):
    (folder / "imported_late_a.py").write_text("value = 1\n")
    seen = []
    after_import("imported_late_a", lambda module: seen.append(("first", module.value)))
    after_import("imported_late_a", lambda module: seen.append(("second", module.value)))
    assert not seen
    module = importlib.import_module("imported_late_a")
    assert seen == [("first", 1), ("second", 1)]
    after_import("imported_late_a", lambda module: seen.append(("now", module.value)))
    assert seen[-1] == ("now", 1)
    assert inspect.getsource(module) == "value = 1\n" and module.__loader__ is module.__spec__.loader


def test_an_import_that_fails_can_be_tried_again(folder):
    file = folder / "imported_late_b.py"
    file.write_text("raise ValueError('not yet')\n")
    seen = []
    after_import("imported_late_b", seen.append)
    with pytest.raises(ValueError, match="not yet"):
        importlib.import_module("imported_late_b")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("imported_late_absent")
    file.write_text("value = 22\n")
    importlib.invalidate_caches()
    assert importlib.import_module("imported_late_b").value == 22 and len(seen) == 1


def test_a_module_that_is_not_there_yet(folder):
    seen = []
    after_import("imported_late_c", seen.append)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("imported_late_c")
    (folder / "imported_late_c.py").write_text("")
    importlib.invalidate_caches()
    importlib.import_module("imported_late_c")
    assert len(seen) == 1


def test_many_threads_import_at_once(folder):
    seen = []
    for i in range(8):
        (folder / f"imported_late_t{i}.py").write_text("import time; time.sleep(0.01)\n")
        after_import(f"imported_late_t{i}", lambda module: seen.append(module.__name__))
    threads = [threading.Thread(target=importlib.import_module, args=(f"imported_late_t{i % 8}",)) for i in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted({*seen}) and len(seen) == 8
