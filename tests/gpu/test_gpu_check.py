"""`oneop check` on a GPU: faults of CUDA kernels are found by their family, right kernels raise no alarm."""

from pathlib import Path

import pytest
import torch

import oneop
from oneop.testing.checker import ON_CUDA, run_check
from oneop.testing.subject import Hints

pytestmark = pytest.mark.gpu

FAULTS = {
    "gpu_writes_past_end": "memory",
    "gpu_writes_far_past_end": "memory",
    "gpu_writes_before_start": "memory",
    "gpu_reads_past_end": "memory",
    "gpu_reads_before_start": "memory",
    "gpu_changes_input": "memory",
    "gpu_leaves_tail": "memory",
    "gpu_adds_to_output": "memory",
    "gpu_own_stream": "memory, streams",
    "gpu_default_stream": "memory, streams",
    "gpu_late_write_of_stream": "memory, streams",
    "gpu_late_write_of_thread": "memory, streams",
    "gpu_short_index": "sizes",
    "gpu_wrong_beyond_a_million": "sizes",
    "gpu_wrong_beyond_64": "reference, sizes",
    "gpu_wrong_odd_tail": "reference",
    "gpu_rounds_address": "layouts",
    "gpu_computes_in_float": "values",
    "gpu_ignores_nan": "special values",
    "gpu_saturates": "values",
    "gpu_not_quite": "reference",
    "gpu_knows_poison": "memory",
    "gpu_caches_by_address": "determinism",
}
RIGHT = ["right_gpu_double", "right_gpu_vectors", "right_gpu_other_stream"]


@pytest.fixture(scope="module")
def library():
    return oneop.load("cuda_faults", [Path(__file__).parent / "sources/cuda_faults.cu"])


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_a_cuda_kernel_is_found(library, name):
    report = run_check(name, Hints(reference=lambda x: 2 * x), only=ON_CUDA, examples=16)
    failures = [outcome.family.removesuffix(" on cuda") for outcome in report.failures]
    assert set(FAULTS[name].split(", ")) & set(failures), str(report)


@pytest.mark.parametrize("name", RIGHT)
def test_right_cuda_kernel_passes(library, name):
    report = run_check(name, Hints(reference=lambda x: 2 * x), only=ON_CUDA)
    assert report.ok, str(report)
    assert sum(outcome.status == "passed" for outcome in report.outcomes) >= 10, str(report)


def _leaky_relu(x, alpha=0.01):
    return torch.nn.functional.leaky_relu(x, alpha)


def test_right_examples_pass(leaky_relu, rows):
    report = run_check("leaky_relu", Hints(reference=_leaky_relu), only=[*ON_CUDA, "devices"])
    assert report.ok, str(report)
    for op in rows.ops:
        report = run_check(op, Hints(), only=ON_CUDA)
        assert report.ok, str(report)
