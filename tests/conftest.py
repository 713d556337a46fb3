"""What tests in several folders use."""

import gc
import os

# Before torch is imported. Threads of several test processes on the same cores wait for each other in OpenMP's
# barriers: two workers of four threads took three times the processor time. Tests of threads ask for `many_threads`.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Torch's compiler tries which vectors the processor has with programs of 5 seconds each, for every new cache, and
# vectorised loops take a third longer to compile. What ops compute in them is torch's own.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
# No processes of its own beside each that compiles: they import torch, and serve programs of many kernels.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import subprocess
from pathlib import Path

import pytest

from quick_python import command
from quick_python.quick_compiler import leave_out_measures

ROOT = Path(__file__).parents[1]

#: Printed when a thread of gloo drops the last reference to a tensor while Python ends, which aborts the process: a
#: fault of torch (pytorch/pytorch#190489). DTensor's caches keep process groups alive to the end, so a program that
#: calls destroy_process_group() can meet it too. It is rare: this project has seen it once.
ABORT_OF_GLOO = "terminate called without an active exception"


GIVEN_FLAGS = os.environ.get("ONEOP_CXXFLAGS", "")

# Torch, its compiler and what tests define are a million objects, which the garbage collector would look at again and
# again: a tenth of the processor time of a test process. Before the tests begin, what is there is left out of it.
gc.set_threshold(100_000, 50, 100)


def pytest_collection_finish():
    """Leave what was imported to collect the tests out of garbage collection."""
    gc.collect()
    gc.freeze()


#: Folders of tests about what kernels compute, with flags for their C++. They load no library of another folder, as a
#: process takes an op of one build only. Everywhere else C++ is compiled without optimization: -O1 takes twice and -O3
#: more than three times as long for an op of the gallery.
OPTIMIZED = {"gallery": "-O1", "op_h": "-O3"}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Choose the flags of the C++ compiler. `ONEOP_CXXFLAGS=-O3 make test` optimizes everything."""
    folder = item.path.relative_to(ROOT / "tests").parts[0]
    flags = [GIVEN_FLAGS] if "-O" in GIVEN_FLAGS else [GIVEN_FLAGS, OPTIMIZED.get(folder, "-O0")]
    os.environ["ONEOP_CXXFLAGS"] = " ".join(flags)
    leave_out_measures()  # before each test, as one before may have imported the compiler


@pytest.fixture
def run_program():
    """Run a program of this checkout that may start ranks with gloo; a second time if gloo aborted at its end."""

    def run(*words, env=None, **options):
        arguments = {
            "env": {**os.environ, "PYTHONPATH": str(ROOT / "src"), **(env or {})},
            "capture_output": True,
            "text": True,
            "timeout": 300,
            "check": False,
            **options,
        }
        result = subprocess.run([*command(), *words], **arguments)
        if result.returncode and ABORT_OF_GLOO in result.stderr:
            result = subprocess.run([*command(), *words], **arguments)
        return result

    return run


@pytest.fixture
def many_threads():
    """Let torch use four threads: kernels that are split over threads are split even on a machine with one core."""
    import torch  # late: tests of other hosts run without it

    count = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(count)
