"""Random programs by every route equal eager. `python -m tests.fuzz` runs more of them."""

import pytest

from .campaign import Tally, run_campaign, run_program
from .routes import ROUTES

CHEAP = [route for route in ROUTES.values() if route.cost == 1]
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compilers


def test_cheap_routes():
    tally = run_campaign(120, 30, most=1)  # those before are run below
    assert not tally.failures, "\n".join(tally.failures)


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if route.cost == 2])
def test_compiled_routes(name):
    tally = Tally()
    for seed in range(1000, 1004):
        run_program(seed, [ROUTES[name]], tally)
    assert not tally.failures, "\n".join(tally.failures)


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if route.cost == 3])
def test_slow_routes(name):
    tally = Tally()
    for seed in range(2001, 2050):
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
