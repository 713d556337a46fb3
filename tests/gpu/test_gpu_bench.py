"""CUDA kernels that look fast and are wrong: `oneop bench` says so."""

from pathlib import Path

import pytest

import oneop
from oneop.benchmark import bench

pytestmark = pytest.mark.gpu

CHEATS = [
    "bench_does_nothing",
    "bench_every_other",
    "bench_tires",
    "bench_most_of_it",
    "bench_in_half",
    "bench_by_address",
    "bench_by_ends",
    "bench_later_by_thread",
]


@pytest.fixture(scope="module")
def library():
    return oneop.load("cuda_cheats", [Path(__file__).parent / "sources/cuda_cheats.cu"])


def run(library, name):
    return bench(getattr(library, name), reference=lambda x: 2 * x, sizes=(100_000,), seconds=0.05, device="cuda")


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_on_the_gpu_is_told(library, name):
    assert not run(library, name).ok


def test_a_right_kernel_is_measured(library):
    assert run(library, "bench_right").ok
