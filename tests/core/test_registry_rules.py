"""What is wrong with a registration is said when the library is loaded, and nothing of it is registered then."""

import pytest

import oneop
from oneop.errors import DuplicateOpError, RegistrationError

FINE = 'REGISTER_USER_OP("i_fine").Input("x").Output("y").SetTensorDescInferFn(Same);\n'


def op(rest, name="i_bad"):
    return FINE + f'REGISTER_USER_OP("{name}"){rest}.SetTensorDescInferFn(Same);\n'


REFUSED = [
    (
        op('.Input("x").Output("x")'),
        'op "i_bad": output "x" has a name that is taken by another input, output or attribute',
    ),
    (
        op('.Input("x").Output("y").Attr<float>("y", 1)'),
        'op "i_bad": attribute "y" has a name that is taken by another input, output or attribute',
    ),
    (
        op('.Input("in").Input("in_").Output("y")'),
        'op "i_bad": input "in_" has a name that is taken by another input, output or attribute',
    ),
    (
        op('.Output("y").Attr<float>("device", 1)'),
        'op "i_bad": attribute "device" has a name that is taken: ops that may be called without tensors have a '
        '"device"',
    ),
    (
        op('.Input("x").OptionalOutput("y").Attr<float>("output_counts", 1)'),
        'op "i_bad": attribute "output_counts" has a name that is taken: ops with a varying number of outputs have '
        'an "output_counts"',
    ),
    (
        FINE + 'REGISTER_OP_HOST_MEMORY_INPUT("i_fine", "xx", 0);',
        'REGISTER_OP_HOST_MEMORY_INPUT: this library has no op "i_fine" with an input "xx"',
    ),
    (op('.Input("a b").Output("y")'), 'op "i_bad": input "a b" is not an identifier'),
    (op('.Input("x").Output("y", 0)'), 'op "i_bad": output "y" cannot have 0 tensors'),
    (op('.Input("x").Output("y")', "i-bad"), 'op "i-bad": the name is not an identifier'),
    (op('.Input("x").Output("y")', "name"), 'op "name": the name means something else in torch.ops'),
    (
        op('.Input("x").Output("y").Attr<std::string>("a", UserOpAttrType::kAtFloat, "text")'),
        'op "i_bad": attribute "a" is a float, its default is a string',
    ),
    (
        FINE + 'REGISTER_USER_KERNEL("i_fine").SetIsMatchedHob(ON_CPU);',
        'a kernel of op "i_fine" has no create function: add .SetCreateFn<YourKernel>()',
    ),
    (
        FINE + 'REGISTER_USER_OP_GRAD("i_fine");',
        'the gradient of op "i_fine" has no generator: add .SetBackwardOpConfGenFn(fn)',
    ),
]


# Each is a library of its own. The quick tests have every third, and the two that name no op first.
@pytest.mark.parametrize(
    "source, text",
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (n % 3 > 0 and case[1].startswith("op ")))
        for n, case in enumerate(REFUSED)
    ],
)
def test_refused(inline, text_of, source, text):
    line = 4 + (0 if source.count("\n") == 0 else 1)
    with pytest.raises(RegistrationError) as raised:
        inline(source)
    message, where = text_of(raised).split("\n")
    assert message == text
    assert where.startswith("  at ") and where.endswith(f".cpp:{line}")
    assert "i_fine" not in oneop.list_ops()


def test_duplicate_op_in_another_library(ops, inline, text_of, defined):
    with pytest.raises(DuplicateOpError) as raised:
        inline(op('.Input("x").Output("y")', "t_relu"), name="other_ops")
    first, *rest = text_of(raised).split("\n")
    assert first == 'op "t_relu" is registered twice'
    assert rest[0] == f"  first:  {defined('t_relu')}"
    assert rest[1].startswith("  second: ") and rest[1].endswith(":5")
    assert rest[2] == "  op names are global: rename one of them"
    assert "i_fine" not in oneop.list_ops()
    assert ops.t_relu is oneop.ops.t_relu


def test_duplicate_op_in_one_library(inline, text_of):
    with pytest.raises(DuplicateOpError) as raised:
        inline(op('.Input("x").Output("y")', "i_fine"))
    first, one, two, _ = text_of(raised).split("\n")
    assert first == 'op "i_fine" is registered twice'
    assert one.endswith(":4") and two.endswith(":5")
    assert "i_fine" not in oneop.list_ops()


def test_duplicate_gradient(ops, inline, text_of, place):
    with pytest.raises(RegistrationError) as raised:
        inline(FINE + 'REGISTER_USER_OP_GRAD("t_relu").SetBackwardOpConfGenFn([](BackwardOpConfContext*) {});')
    first, one, two = text_of(raised).split("\n")
    assert first == 'op "t_relu" has two gradients'
    known = place('OP_GRAD("t_relu")')
    assert one == f"  first:  {known}" and two.endswith(":5")
    assert "i_fine" not in oneop.list_ops()


def test_a_kernel_for_another_librarys_op(ops, inline):
    import torch

    assert "float64" not in [kernel.dtype for kernel in oneop.get_op("t_choice").kernels]
    inline("""
        class Nine final : public user_op::OpKernel {
          void Compute(KernelComputeContext* ctx) const override { *Out<double>(ctx, "y") = 9; }
        };
        REGISTER_USER_KERNEL("t_choice").SetCreateFn<Nine>().SetIsMatchedHob(
            ON_CPU && user_op::HobDataType("x", 0) == DataType::kDouble);
    """)
    assert ops.t_choice(torch.ones(1).double()) == 9
    assert ops.t_choice(torch.ones(1)) == 1


def test_kernels_and_gradients_may_come_before_their_op(inline, text_of):
    before = oneop.list_pending()
    inline(
        """
        KERNEL(Nothing, (void)ctx)
        REGISTER_USER_KERNEL("i_later").SetCreateFn<Nothing<float>>();
        REGISTER_USER_OP_GRAD("i_later").SetBackwardOpConfGenFn([](BackwardOpConfContext*) {});
        """,
        name="kernels_first",
    )
    lines = [line.rsplit("/", 1)[0].split(" at ")[0] for line in oneop.list_pending() if line not in before]
    assert lines == ['kernel of unknown op "i_later"', 'gradient of unknown op "i_later"']
    inline('REGISTER_USER_OP("i_later").Input("x").Output("y").SetTensorDescInferFn(Same);', name="op_later")
    assert oneop.list_pending() == before
    definition = oneop.get_op("i_later")
    assert len(definition.kernels) == 1 and definition.grad is not None


def test_isolated_puts_everything_back(ops):
    before = oneop.list_ops()
    with oneop.registry.isolated():
        oneop.load_inline(
            "gone",
            '#include "oneflow/core/framework/framework.h"\nREGISTER_USER_OP("i_gone").Input("x").Output("y");',
        )
        assert "i_gone" in oneop.list_ops()
        held = oneop.ops.i_gone
    assert oneop.list_ops() == before
    with pytest.raises(oneop.errors.OpNotFoundError, match='no op "i_gone" is registered'):
        held(None)
    with pytest.raises(oneop.errors.OpNotFoundError):
        oneop.ops.i_gone  # noqa: B018
