"""Random programs by every route equal eager. `python -m tests.fuzz` runs more of them."""

import pytest
import torch
import torch._inductor.config

from .campaign import Tally, run_campaign, run_program
from .routes import ROUTES

CHEAP = [route for route in ROUTES.values() if route.cost == 1]
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compilers


@pytest.mark.parametrize("first, count", [(120, 10), pytest.param(130, 20, marks=pytest.mark.slow)])
def test_cheap_routes(first, count):
    tally = run_campaign(first, count, most=1)  # those before are run below
    assert not tally.failures, "\n".join(tally.failures)


@pytest.mark.parametrize("first", [1000, pytest.param(1002, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if route.cost == 2])
def test_compiled_routes(name, first):
    tally = Tally()
    for seed in (first, first + 1):
        run_program(seed, [ROUTES[name]], tally)
    assert not tally.failures, "\n".join(tally.failures)


#: No loops in C++ of torch's own ops, and what C++ there is compiled quickly.
QUICKLY = {
    "inductor": {"fallback_by_default": True},
    "AOTInductor": {"aot_inductor.compile_wrapper_opt_level": "O0", "aot_inductor.precompile_headers": False},
}


@pytest.mark.parametrize(
    "name, is_quick",
    [
        pytest.param(name, is_quick, marks=[pytest.mark.slow] * (name == "AOTInductor" or not is_quick))
        for name, route in ROUTES.items()
        if route.cost == 3
        for is_quick in (True, False)
    ],
)
def test_slow_routes(name, is_quick):
    tally = Tally()
    for seed in range(2001, 2050):
        with torch._inductor.config.patch(QUICKLY[name] if is_quick else {}):
            run_program(seed, [ROUTES[name]], tally)
        if tally.runs or tally.failures:
            break  # the first program that the route takes
    assert tally.runs and not tally.failures, "\n".join(tally.failures)


def test_every_feature_meets_every_cheap_route():
    """The table that the documentation relies on has no gap among the features of ops."""
    tally = Tally()
    for seed in range(120):
        run_program(seed, CHEAP, tally, only_new=True)
    assert not tally.failures, "\n".join(tally.failures)
    features = {"numpy", "torch", "c++", "functor", "plain", "changing", "effect", "optional", "list"}
    missing = [
        (feature, route.name)
        for feature in features
        for route in CHEAP
        if not route.lacks & {feature}
        and route.name != "vmap randomness"
        and not tally.runs[feature, route.name]
        and not (feature == "effect" and route.name in ("vmap of grad", "checkpoint"))
    ]
    assert not missing
