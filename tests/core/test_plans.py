"""A repeated call runs no function of the author's but the kernel."""

import torch

from oneop.runtime import core as _runtime

NAMES = ("check_attrs", "infer", "is_matched", "tmp_size", "create", "compute")


def counts(ops, x, **attrs):
    return dict(zip(NAMES, ops.t_watched(x, **attrs).tolist(), strict=True))


def difference(before, after):
    return {name: after[name] - before[name] for name in NAMES}


def test_a_repeated_call_only_computes(ops):
    x = torch.ones(5)
    before = counts(ops, x)
    for _ in range(9):
        after = counts(ops, x)
    assert difference(before, after) == dict.fromkeys(NAMES, 0) | {"compute": 9}


def test_so_do_calls_that_take_turns(ops):
    calls = [(torch.ones(n), {"which": w}) for n in (11, 12) for w in (100, 101)]
    for x, attrs in calls:
        before = counts(ops, x, **attrs)
    for x, attrs in calls * 3:
        after = counts(ops, x, **attrs)
    assert difference(before, after) == dict.fromkeys(NAMES, 0) | {"compute": 12}


def test_through_torch_too(ops):
    x = torch.ones(21)
    before = dict(zip(NAMES, torch.ops.oneop.t_watched(x).tolist(), strict=True))
    after = dict(zip(NAMES, torch.ops.oneop.t_watched(x).tolist(), strict=True))
    assert difference(before, after) == dict.fromkeys(NAMES, 0) | {"compute": 1}


def test_another_attribute_is_another_call(ops):
    x = torch.ones(31)
    before = counts(ops, x, which=31)
    after = counts(ops, x, which=32)
    assert difference(before, after) == dict.fromkeys(NAMES, 1)


def test_another_shape_shares_the_kernel_object(ops):
    before = counts(ops, torch.ones(41), which=41)
    after = counts(ops, torch.ones(42), which=41)
    assert difference(before, after) == dict.fromkeys(NAMES, 1) | {"create": 0}


def test_another_dtype_or_rank_is_another_call(ops):
    before = counts(ops, torch.ones(6), which=51)
    for x in (torch.ones(6).double(), torch.ones(6, 1), torch.ones(1, 6), torch.ones(2, 3)):
        after = counts(ops, x, which=51)
        assert difference(before, after)["infer"] == 1
        before = after


def test_strides_do_not_matter_to_an_op_that_gets_contiguous_tensors(ops):
    x = torch.ones(6, 6)
    before = counts(ops, x, which=61)
    after = counts(ops, x.t()[::2].expand(3, 6)[:, :].clone().t().t(), which=62)
    before, after = after, counts(ops, torch.ones(6, 3).t(), which=62)
    assert difference(before, after)["infer"] == 0


def test_the_cache_of_plans_is_bounded(ops):
    limit = 4096
    for n in range(limit + 50):
        ops.t_zeros_like(torch.empty(1, n % 64, n // 64))
    assert 0 < _runtime.core().op_info("t_zeros_like")["cached_plans"] <= limit


def test_the_cache_of_kernel_objects_is_bounded_too(ops):
    x = torch.ones(1)
    for n in range(4200):
        ops.t_watched(x, which=1000 + n)
    assert counts(ops, x, which=7)["compute"] > 4200


def test_a_failing_call_is_not_remembered(ops):
    x = torch.ones(3)
    for where in ("check", "", "check", ""):
        try:
            assert ops.t_failing(x, where=where).sum() == 3
        except RuntimeError:
            assert where == "check"
