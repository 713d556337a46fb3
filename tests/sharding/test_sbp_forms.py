"""SBP signatures in all the forms in which they can be written give one."""

import pytest
import torch

import oneop
from oneop import sbp
from oneop.errors import ArgumentError, CheckError, OpIndexError, RegistrationError

MATMUL = [
    {"a": ["S(0)"], "b": ["B"], "c": ["S(0)"]},
    {"a": ["S(1)"], "b": ["S(0)"], "c": ["P"]},
    {"a": ["B"], "b": ["S(1)"], "c": ["S(1)"]},
    {"a": ["B"], "b": ["B"], "c": ["B"]},
]


def with_builder(ctx):
    ctx.new_builder().split("a", 0).broadcast("b").split("c", 0).build()
    ctx.new_builder().split("a", -1).split(("b", 0), 0).partial_sum(ctx.outputs).build()
    ctx.new_builder().broadcast(["a"]).split(["b", "c"], 1).build()


def returned(ctx):
    assert ctx.shape("a") == (4, 6) and ctx.has("b") and ctx.inputs == [("a", 0), ("b", 0)]
    return ["S(0), B -> S(0)", "S(1), S(0) -> P", "B, S(1) -> S(1)"]


@pytest.mark.parametrize(
    "written",
    [
        ["m k, k n -> m n"],
        ["S(0), B -> S(0)", "S(1), S(0) -> P", "B, S(1) -> S(1)"],
        ["a: S(0), b: B -> c: S(0)", "S(-1), S(0) -> P", "B, S(-1) -> S(-1)"],
        [
            {"a": sbp.split(0), "b": sbp.broadcast, "c": sbp.split(0)},
            {"a": "S(1)", "b": "S(0)", "c": "P"},
            [sbp.broadcast, sbp.split(1), sbp.split(1)],
        ],
        [with_builder],
        [returned],
    ],
    ids=["axes", "text", "named", "lists", "builder", "returned"],
)
def test_forms(written):
    op = oneop.define("f_matmul(Tensor a, Tensor b) -> Tensor c", infer="m k, k n -> m n")
    op.register_sbp(*written)
    assert oneop.sbp_signatures("f_matmul", [(4, 6), (6, 8)]) == MATMUL


def test_splits_into_more_parts_than_there_are_elements_are_left_out():
    oneop.define("f_relu(Tensor x) -> Tensor y", infer="elementwise")
    texts = lambda **given: [one["x"][0] for one in oneop.sbp_signatures("f_relu", [(4, 2)], **given)]  # noqa: E731
    assert texts() == ["S(0)", "S(1)", "B"]
    assert texts(parallel_num=3) == ["S(0)", "B"]
    assert texts(parallel_num=5) == ["B"]


def test_the_same_signature_twice_is_one():
    op = oneop.define("f_two(Tensor x) -> Tensor y", infer="elementwise", sbp=["S(0) -> S(0)", "i -> i", "B -> B"])
    assert [one["x"] for one in oneop.sbp_signatures("f_two", [(3,)])] == [["S(0)"], ["B"]]
    assert op.__name__ == "f_two"


def test_attributes_and_what_is_absent():
    op = oneop.define("f_opt(Tensor x, Tensor? b=None, *, int axis=0) -> Tensor y")
    op.register_infer(lambda x, b: x)

    @op.register_sbp
    def signatures(ctx):
        builder = ctx.new_builder().split("x", ctx.attrs["axis"]).split("y", ctx.attrs["axis"])
        builder.broadcast("b").build()

    with_bias = oneop.sbp_signatures("f_opt", [(4, 2), (2,)], axis=1)
    assert with_bias[0] == {"x": ["S(1)"], "b": ["B"], "y": ["S(1)"]}
    assert oneop.sbp_signatures("f_opt", [(4, 2)])[0] == {"x": ["S(0)"], "y": ["S(0)"]}
    assert oneop.sbp_signatures("f_opt", [torch.ones(4, 2), None])[0] == {"x": ["S(0)"], "y": ["S(0)"]}


def test_dtypes_and_lists_of_tensors():
    op = oneop.define("f_pick(Tensor[] xs, Tensor ids) -> Tensor y", sbp="S(1), B -> S(1)")

    @op.register_infer
    def infer(xs, ids):
        assert ids.dtype == torch.int64
        return xs[0].like(shape=(ids.shape[0], xs[0].shape[1]))

    ids = oneop.TensorSpec((3,), torch.int64)
    assert oneop.sbp_signatures("f_pick", [[(4, 2), (4, 2)], ids])[0] == {
        "xs": ["S(1)", "S(1)"],
        "ids": ["B"],
        "y": ["S(1)"],
    }
    with pytest.raises(ArgumentError, match='op "f_pick": expected a shape'):
        oneop.sbp_signatures("f_pick", [["what"], ids])


@pytest.mark.parametrize(
    "written, problem",
    [
        ({"x": "B"}, "it says nothing about y"),
        ({"x": "B", "y": "B", "z": "B"}, 'there is no argument "z"'),
        ({"x": 3, "y": "B"}, "cannot read 3"),
        (["B"], "expected 2 entries, for x, y; found 1"),
        ("S(a) -> B", 'cannot read "S(a)"'),
        ("B, B -> B", "expected 1 inputs as in the schema, found 2"),
    ],
)
def test_what_cannot_be_read_is_refused(written, problem):
    op = oneop.define("f_bad(Tensor x) -> Tensor y", infer="elementwise")
    with pytest.raises(RegistrationError) as error:
        op.register_sbp(written)
    text = str(error.value)
    assert problem in text and text.startswith('op "f_bad", SBP signature') and f"at {__file__}:" in text
    assert len(text.splitlines()) <= 12


def test_what_cannot_hold_is_refused():
    op = oneop.define("f_far(Tensor x) -> Tensor y", infer="elementwise", sbp="S(2) -> S(2)")
    with pytest.raises(CheckError, match='op "f_far", SBP signature splits "x" along axis 2, it has 2 axes'):
        oneop.sbp_signatures("f_far", [(4, 2)])
    op.register_sbp(lambda ctx: ctx.new_builder().split("x", 0).build())
    with pytest.raises(CheckError, match='SBP signature says nothing about "y"'):
        oneop.sbp_signatures("f_far", [(4, 2)])
    op.register_sbp(lambda ctx: ctx.new_builder().split("in", 0).build())
    with pytest.raises(OpIndexError, match='op "f_far" has no argument "in"; it has x, y'):
        oneop.sbp_signatures("f_far", [(4, 2)])


def test_words():
    from torch.distributed.tensor import Partial, Replicate, Shard

    assert [str(one) for one in (sbp.split(1), sbp.broadcast, sbp.partial_sum)] == ["S(1)", "B", "P"]
    assert repr(sbp.split(1)) == "oneop.sbp.split(1)" and repr(sbp.broadcast) == "oneop.sbp.broadcast"
    assert sbp.placements([sbp.split(1), "B", "P"]) == (Shard(1), Replicate(), Partial())
    assert sbp.of_placements([Shard(1), Replicate(), Partial()]) == (sbp.split(1), sbp.broadcast, sbp.partial_sum)
    with pytest.raises(ArgumentError, match=r'expected S\(axis\), B or P, found "X"'):
        sbp.placements("X")
    with pytest.raises(ArgumentError, match="is not a split, a broadcast or a partial sum"):
        sbp.of_placements([Partial("product")])
    assert sbp.of_placements([Partial("max")]) == (sbp.partial_max,) and str(sbp.partial_max) == "P(max)"
    assert sbp.placements("P(avg)") == (Partial("avg"),) and repr(sbp.partial_min) == "oneop.sbp.partial_min"
