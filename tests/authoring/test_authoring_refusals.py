"""What definitions in Python refuse, each with its text: rules, kernels, gradients, op modules."""

import sys

import pytest
import torch

import oneop
from oneop.errors import CheckError, GradientError, OpIndexError, RegistrationError


def refusal(kind, function, *args, **kwargs):
    with pytest.raises(kind) as raised:
        function(*args, **kwargs)
    return str(raised.value)


def define(name, schema="(Tensor x) -> Tensor y", **options):
    return oneop.define(f"{name}{schema}", **{"infer": "elementwise", **options})


# --- schemas and inference --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema, text",
    [
        ("(Tensor(a!) x) -> Tensor(a!)", "an op that changes an input in place returns nothing for it; write -> ()"),
        ("(Tensor<2> x) -> Tensor", 'cannot read "Tensor<2> x"; expected Tensor x, Tensor? x, Tensor[] x, Tensor[2] x'),
        ("(Tensor x, *, alpha) -> Tensor", 'cannot read "alpha"; expected a type and a name, such as float alpha=0.01'),
    ],
)
def test_schemas(schema, text):
    assert text in refusal(RegistrationError, define, "py_no_schema", schema)


def test_inference_without_inputs():
    text = refusal(RegistrationError, define, "py_no_inputs", "() -> Tensor y", infer="elementwise")
    assert text.startswith('op "py_no_inputs": infer="elementwise" needs an input\n  at ')


@pytest.mark.parametrize(
    "result, text",
    [
        (((1,), (2,)), "inference gave 2, expected 1 output\n  return a shape or an oneop.TensorSpec for each"),
        (["x"], "expected a shape or an oneop.TensorSpec"),
    ],
)
def test_results_of_inference(result, text):
    op = oneop.define("py_wrong_infer(Tensor x) -> Tensor y")

    @op.register_infer
    def infer(x):
        return result

    @op.register_kernel()
    def kernel(x):
        return x

    assert text in refusal(CheckError, op, torch.ones(2))


# --- kernels ----------------------------------------------------------------------------------------------------------


def test_dtypes_of_kernels():
    op = define("py_no_dtypes")
    text = refusal(RegistrationError, op.register_kernel("cpu", dtypes="float32"), lambda x: x)
    assert "\n  expected torch dtypes for the first of, or by name for any of: x, y\n  at " in text


def test_numba_that_is_not_there(monkeypatch):
    op = define("py_no_numba")
    monkeypatch.setitem(sys.modules, "numba", None)
    text = refusal(RegistrationError, op.register_kernel(language="numba"), lambda x, out: None)
    assert text.startswith(
        'op "py_no_numba": numba is not installed\n  pip install numba, or use language="numpy"\n  at '
    )


def test_ml_dtypes_that_is_not_there(monkeypatch):
    from oneop.authoring.kernels.numpy_dtypes import numpy_dtype

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert refusal(TypeError, numpy_dtype.__wrapped__, torch.bfloat16) == (
        "numpy has no bfloat16; with ml_dtypes it has: pip install ml_dtypes"
    )


# --- gradients and signatures -----------------------------------------------------------------------------------------


def test_tangents():
    op = define("py_no_tangents")

    @op.register_kernel()
    def kernel(x):
        return x.copy()

    @op.register_jvp
    def forward(ctx, dx):
        return dx, dx

    text = refusal(GradientError, torch.func.jvp, op, (torch.ones(2),), (torch.ones(2),))
    assert text.startswith(
        'the forward-mode rule of op "py_no_tangents" gave 2 tangents, expected one for each of 1 outputs\n  at '
    )


@pytest.mark.parametrize(
    "sizes, text",
    [
        ({"size": "z[0]"}, "expected one of x, y, with an axis in brackets or without"),
        ({"factor": "y[0]"}, "expected an attribute of type int, found float"),
        ({"siz": "y[0]"}, 'there is no such attribute, did you mean "size"?'),
    ],
)
def test_attributes_that_are_sizes(sizes, text):
    define_sized = "(Tensor x, *, int size, float factor) -> Tensor y"
    assert text in refusal(RegistrationError, define, "py_no_sizes", define_sized, size_attrs=sizes)


def test_tensors_of_a_signature():
    op = define("py_no_spec")

    @op.register_sbp
    def sbp(ctx):
        ctx.spec("x", 1)

    assert 'op "py_no_spec" has no tensor x[1] in this call' in refusal(
        (OpIndexError, RegistrationError), oneop.sbp_signatures, "py_no_spec", [(2,)]
    )


# --- op modules -------------------------------------------------------------------------------------------------------


def test_a_module_without_kernels(tmp_path):
    folder = tmp_path / "py_empty"
    folder.mkdir()
    (folder / "py_empty_py_kernel.py").write_text("")
    (folder / "py_empty_def.py").write_text("")
    text = refusal(RegistrationError, oneop.load_module, folder)
    path = folder / "py_empty_py_kernel.py"
    assert text == f'op module "py_empty": {path} has neither forward(args) nor backward(args)'


@pytest.mark.parametrize("what", ["kernel", "infer", "check", "grad", "jvp", "vmap", "sbp"])
def test_what_gives_no_result(what):
    op = oneop.define("ar_async(Tensor x) -> Tensor y")

    async def late(*args, **kwargs): ...

    with pytest.raises(
        RegistrationError, match="a call of an async function gives no result, found late\n  write def "
    ):
        getattr(op, f"register_{what}")(late)
    if what != "kernel":  # which takes a device there
        with pytest.raises(RegistrationError, match=r"expected .*, found int 3"):
            getattr(op, f"register_{what}")(3)


@pytest.mark.parametrize("written", [3, None, object])
def test_signatures_that_are_none(written):
    op = oneop.define("ar_sbp(Tensor x) -> Tensor y")
    with pytest.raises(RegistrationError, match="expected a text, a list, a mapping or a function, found "):
        op.register_sbp("S(0) -> S(0)", written)
