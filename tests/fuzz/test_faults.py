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
    plant, route, features, known = FAULTS[name]
    routes = [ROUTES[route]]
    for seed in (known, *range(3000, 3000 + MOST_PROGRAMS)):
        tally, clean = Tally(), Tally()
        torch._dynamo.reset()
        with plant():
            run_program(seed, routes, tally, needs=features)
        torch._dynamo.reset()
        if tally.failures:
            run_program(seed, routes, clean)
            assert not clean.failures  # without the fault the same program is right
            return
    pytest.fail(f"not found by {MOST_PROGRAMS} programs")
