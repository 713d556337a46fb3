"""The fuzzer finds faults: eleven are planted in the runtime, one at a time."""

import pytest
import torch

from .campaign import Tally, run_program
from .faults import FAULTS
from .routes import ROUTES

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compilers
MOST_PROGRAMS = 400


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found(name):
    plant, route, features = FAULTS[name]
    routes = [ROUTES[route]]
    torch._dynamo.reset()
    tally = Tally()
    with plant():
        for seed in range(3000, 3000 + MOST_PROGRAMS):
            run_program(seed, routes, tally, needs=features)
            if tally.failures:
                break
    torch._dynamo.reset()
    assert tally.failures, f"not found by {tally.programs} programs"
    clean = Tally()
    run_program(seed, routes, clean)  # without the fault the same program is right
    assert not clean.failures, clean.failures
