"""Who owns what during a call: arguments whose conversion runs Python, lists that change, records that are replaced."""

import gc
import threading
import weakref

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop.errors import ArgumentError


class Number:
    """Anything Python takes for a number, with an act that runs when it is converted."""

    def __init__(self, value, act=lambda: None):
        self.value, self.act = value, act

    def __float__(self):
        self.act()
        return float(self.value)

    def __index__(self):
        self.act()
        return int(self.value)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=2),
    alphas=st.lists(st.sampled_from((0.125, 0.5, 2.0)), min_size=2, max_size=2),
    repeats=st.integers(1, 3),
)
def test_an_attribute_may_call_ops_while_it_is_converted(ops, sizes, alphas, repeats):
    """The inner call may be the same op, with other shapes and attributes, and be a repeated one or not."""
    outer, inner = (-torch.ones(n) for n in sizes)
    for _ in range(repeats):
        ops.t_relu(outer, alpha=alphas[0])

    def call_inside():
        for _ in range(repeats):
            result = ops.t_relu(inner, alpha=alphas[1])
            assert result.tolist() == [-alphas[1]] * sizes[1]

    result = ops.t_relu(outer, alpha=Number(alphas[0], call_inside))
    assert result.tolist() == [-alphas[0]] * sizes[0]


def test_an_attribute_is_converted_once(ops):
    seen = []
    for n in (3, 3, 4):
        ops.t_relu(torch.ones(n), alpha=Number(0.5, lambda: seen.append(1)))
    assert len(seen) == 3


LISTS = {  # attributes of t_every: what is given, and what clears it
    "int64s": lambda item: [item, *range(50)],
    "int32s": lambda item: [item, *range(50)],
    "floats": lambda item: [item, *map(float, range(50))],
    "shape": lambda item: [item, 2, 3],
}


@pytest.fixture
def listed(inline):
    inline("""
        template <class L> int64_t Total(const L& list) {
          int64_t sum = 0;
          for (auto v : list) { sum += int64_t(v); }
          return sum;
        }
        KERNEL(Every, {
          Out<T>(ctx, "y")[0] = T(Total(ctx->Attr<std::vector<int64_t>>("int64s")) +
              Total(ctx->Attr<std::vector<int32_t>>("int32s")) + Total(ctx->Attr<std::vector<float>>("floats")) +
              ctx->Attr<Shape>("shape").elem_cnt());
        })
        REGISTER_USER_OP("i_every").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same)
            .Attr<std::vector<int64_t>>("int64s", {}).Attr<std::vector<int32_t>>("int32s", {})
            .Attr<std::vector<float>>("floats", {}).Attr<Shape>("shape", Shape({1}));
        REGISTER_FOR("i_every", Every, float, "x")
    """)
    return oneop.ops.i_every


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("change", ("clear", "grow", "replace"))
def test_a_list_that_its_own_items_change(listed, name, change):
    values = []
    acts = {
        "clear": values.clear,
        "grow": lambda: values.extend([7] * 1000),
        "replace": lambda: values.__setitem__(slice(None), ["x"] * len(values)),
    }
    x = torch.zeros(1)
    values[:] = LISTS[name](Number(2, acts[change]))
    want = listed(x, **{name: LISTS[name](2)})
    assert torch.equal(listed(x, **{name: values}), want)  # the items are those that were given


@pytest.mark.parametrize("name", LISTS)
def test_a_list_inside_itself(listed, name):
    values = [1, 2]
    values.append(values)
    with pytest.raises(ArgumentError, match=f'attribute "{name}": expected .*, found list'):
        listed(torch.zeros(1), **{name: values})


class Wrong(Exception):
    pass


@pytest.mark.parametrize("raised", (KeyboardInterrupt, SystemExit, GeneratorExit))
@pytest.mark.parametrize("name", ("alpha", "floats"))
def test_an_interrupt_goes_through(ops, listed, raised, name):
    def act():
        raise raised

    with pytest.raises(raised):
        if name == "alpha":
            ops.t_relu(torch.ones(2), alpha=Number(1, act))
        else:
            listed(torch.ones(1), floats=[1.0, Number(1, act)])


def test_an_error_of_the_conversion_is_the_cause(ops):
    def act():
        raise Wrong("not now")

    with pytest.raises(ArgumentError, match='attribute "alpha": expected a float, found Number') as caught:
        ops.t_relu(torch.ones(2), alpha=Number(1, act))
    assert isinstance(caught.value.__cause__, Wrong)


@pytest.mark.parametrize("value", (1e300, -1e300, 3.5e38))
def test_a_number_too_large_for_its_attribute(ops, listed, value):
    text = r'attribute "alpha": expected a float of 32 bits, found '
    with pytest.raises(ArgumentError, match=text):
        ops.t_relu(torch.ones(2), alpha=value)
    with pytest.raises(ArgumentError, match=text):
        torch.ops.oneop.t_relu(torch.ones(2), alpha=value)
    with pytest.raises(ArgumentError, match="expected a list of floats of 32 bits"):
        listed(torch.ones(1), floats=[value])
    with pytest.raises(ArgumentError, match="of 32 bits"):
        torch.ops.oneop.i_every(torch.ones(1), int32s=[2**31])
    assert ops.t_relu(-torch.ones(2), alpha=float("inf")).tolist() == [-float("inf")] * 2
    assert ops.t_relu(-torch.ones(1), alpha=np.float32(3.4e38)).item() < -3e38


def test_tensors_of_a_list_are_owned_while_the_kernel_runs(inline):
    inline(
        """
        std::atomic<int> running{0};
        KERNEL(Wait, {
          running = 1;
          while (running == 1) { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
          for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
            Out<T>(ctx, "y")[i] = In<T>(ctx, "x", 0)[i] + In<T>(ctx, "x", 1)[i];
          }
        })
        KERNEL(Is, { Out<T>(ctx, "y")[0] = T(running.load()); })
        KERNEL(Go, { running = 2; })
        REGISTER_USER_OP("i_wait").InputWithMinimum("x", 1).Output("y").NoGrad().SetTensorDescInferFn(Same);
        REGISTER_USER_OP("i_is").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
        REGISTER_USER_OP("i_go").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
        REGISTER_FOR("i_wait", Wait, float, "x")
        REGISTER_FOR("i_is", Is, float, "x")
        REGISTER_FOR("i_go", Go, float, "x")
    """,
        cflags=["-include", "atomic", "-include", "thread"],
    )
    one = torch.zeros(1)

    def call(values, results):
        results.append(oneop.ops.i_wait(values))

    for _ in range(3):  # the second and third are repeated calls
        values = [torch.full((4096,), 1.0), torch.full((4096,), 2.0)]
        alive = [weakref.ref(value) for value in values]
        results = []
        thread = threading.Thread(target=call, args=(values, results))
        thread.start()
        while oneop.ops.i_is(one).item() != 1:
            pass
        values.clear()
        gc.collect()
        assert all(ref() is not None for ref in alive)
        junk = [torch.full((4096,), 9.0) for _ in range(4)]
        oneop.ops.i_go(one)
        thread.join()
        assert torch.equal(results[0], torch.full((4096,), 3.0)) and len(junk) == 4
        assert all(ref() is None for ref in alive)


class Big:
    """Something that a closure holds."""


def redefine(factor, holds):
    op = oneop.define("o_freed(Tensor x, *, float by=1.0) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x, by: x * (factor if holds else 0))
    op.register_grad(lambda ctx, dy: dy * (factor if holds else 0))


def test_what_a_redefinition_replaces_is_freed(isolated):
    held = []
    for factor in range(1, 5):
        big = Big()
        held.append(weakref.ref(big))
        redefine(factor, big)
        x = torch.ones(3, requires_grad=True)
        for n in range(1, 5):  # plans of several shapes
            oneop.ops.o_freed(torch.ones(n), by=float(n))
        y = oneop.ops.o_freed(x)
        y.sum().backward()
        assert y.tolist() == [factor] * 3 and x.grad.tolist() == [factor] * 3
        del big, x, y
    gc.collect()
    assert [ref() is None for ref in held] == [True, True, True, False]


def test_a_graph_keeps_the_gradient_that_it_recorded(isolated):
    redefine(2, True)
    x = torch.ones(3, requires_grad=True)
    y = oneop.ops.o_freed(x)
    redefine(5, True)
    gc.collect()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert oneop.ops.o_freed(torch.ones(1)).item() == 5


def test_none_in_a_list_is_refused_by_a_repeated_call_too(isolated):
    op = oneop.define("o_list(Tensor[] xs) -> Tensor y")
    op.register_infer(lambda xs: xs[0].like())
    op.register_kernel("cpu")(lambda xs: sum(xs))
    x = torch.ones(2)
    for items in ([x, None, x], [None, None, x, x], (x, x, None)):
        oneop.ops.o_list([x, x])  # as many tensors: this thread remembers the call
        with pytest.raises((ArgumentError, TypeError, RuntimeError)):
            oneop.ops.o_list(items)


def test_a_call_whose_op_gets_other_arguments_while_it_is_read(isolated):
    """An attribute is never converted twice: the second time it could be another value."""

    def define(extra):
        op = oneop.define(f"o_reread(Tensor x, *, {extra}int[] a=[1]) -> Tensor y", infer="elementwise")
        op.register_kernel("cpu")(lambda x, a: x * 0 + x.dtype.type(sum(a)))

    seen = []

    def act():
        seen.append(1)
        if len(seen) == 1:
            define("int q=1, ")

    define("")
    with pytest.raises(oneop.errors.OpRuntimeError) as caught:
        oneop.ops.o_reread(torch.zeros(2), a=[Number(7, act)])
    assert str(caught.value) == ('op "o_reread" was redefined with other arguments during this call\n  call it again')
    assert len(seen) == 1
    assert oneop.ops.o_reread(torch.zeros(1), a=[Number(7, act)]).item() == 7


@pytest.mark.parametrize("text", (b"\xff", b"", b"\x00a", "é".encode()))
def test_defaults_of_any_bytes(isolated, text):
    op = oneop.define(f"o_bytes(Tensor x, *, bytes b={text!r}) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x, b: x * 0 + len(b))
    assert oneop.ops.o_bytes(torch.zeros(1)).item() == len(text)
    assert oneop.ops.o_bytes(torch.zeros(1), b=b"\xfe\xff").item() == 2
    oneop.show("o_bytes")


def test_a_name_that_is_no_text(ops):
    with pytest.raises(ArgumentError, match="has no input or attribute"):
        ops.t_relu(torch.ones(1), **{"\ud800": 1})
    with pytest.raises(ArgumentError, match="expected an int of 64 bits, found int 9223372036854775808"):
        ops.t_counting(torch.ones(1), which=2**63)


@pytest.mark.parametrize("method", ("register_infer", "register_check", "register_grad", "register_jvp"))
def test_what_cannot_be_called_is_not_registered(isolated, method):
    op = oneop.define("o_callable(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x * 2)
    with pytest.raises(oneop.errors.RegistrationError, match="expected a function to register, found int 3"):
        getattr(op, method)(3)
    with pytest.raises(oneop.errors.RegistrationError, match="expected a function to register, found int 3"):
        op.register_kernel("cpu")(3)
    assert oneop.ops.o_callable(torch.ones(1)).item() == 2
