"""The memory planner: buffers that are alive together never overlap, and little is wasted."""

from hypothesis import given
from hypothesis import strategies as st

from oneop.jobs.planning.memory import ALIGNMENT, Lifetime, plan_memory

lifetimes = st.builds(
    lambda size, first, length: Lifetime(size, first, first + length),
    st.integers(0, 5000),
    st.integers(0, 30),
    st.integers(0, 10),
)


@given(st.lists(lifetimes, max_size=40))
def test_buffers_alive_together_do_not_overlap(buffers):
    plan = plan_memory(buffers)
    for i, a in enumerate(buffers):
        assert plan.offsets[i] % ALIGNMENT == 0
        assert plan.offsets[i] + a.size <= plan.size
        for j in range(i):
            b = buffers[j]
            apart_in_time = a.last < b.first or b.last < a.first
            apart = plan.offsets[i] + a.size <= plan.offsets[j] or plan.offsets[j] + b.size <= plan.offsets[i]
            assert apart_in_time or apart
    assert plan.lower_bound <= plan.size <= plan.naive


def test_a_chain_needs_two_places():
    plan = plan_memory([Lifetime(64, i, i + 1) for i in range(50)])
    assert plan.size == plan.lower_bound == 128


def test_nothing_to_plan():
    plan = plan_memory([])
    assert (plan.size, plan.lower_bound, plan.naive) == (0, 0, 0)
