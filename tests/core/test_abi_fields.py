"""Every field that a library fills in, with values that it cannot have: an error or a right result, never a crash.

Each case runs in a child process of its own, made by fork, so a crash is one failed case.
"""

import ctypes
import json
import os
import subprocess
from pathlib import Path

import pytest
import torch

import oneop
from oneop import sysconfig
from quick_python import command

SOURCES = Path(__file__).parent / "sources"
# Not those between the true length of a list and the limit: nothing can tell them from right ones.
NUMBERS = (-(2**31), -1, 0, 1, 100_000, 2**31 - 1)
SIZES = (-(2**62), -1, 0, 2**40, 2**62)

SCRIPT = """
import json, os, resource, signal, sys, torch, oneop
path, cases = sys.argv[1], json.loads(sys.argv[2])
# 4 TiB are refused, also where the system gives out more than it has
resource.setrlimit(resource.RLIMIT_AS, (2**41, resource.getrlimit(resource.RLIMIT_AS)[1]))
oneop.list_ops()
def attempt():
    library = oneop.load(path)
    x = torch.tensor([-2.0, 3.0, 1.0], requires_grad=True)
    attrs = {} if any(a in os.environ["ONEOP_FAULT"] for a in ("attrs", "alpha_def", "bad_text")) else {"alpha": 0.5}
    y = oneop.ops.plain_c_relu(x, **attrs)
    if y.shape == x.shape and y.requires_grad:
        y.sum().backward()
    if os.environ["ONEOP_FAULT"] == "none=0":
        assert y.tolist() == [-1, 3, 1] and x.grad.tolist() == [0.5, 1, 1], (y, x.grad)
for case in cases:
    pid = os.fork()
    if pid == 0:
        os.environ["ONEOP_FAULT"] = case
        signal.alarm(20)
        try:
            attempt()
            told = "works"
        except (oneop.OneopError, AttributeError, TypeError) as error:
            text = str(error)
            told = f"{type(error).__name__}: {text}"
            assert len(text.splitlines()) < 12, text
        except RuntimeError as error:  # torch's own, of an allocation
            assert "memory" in str(error) or "overflow" in str(error), error
            told = f"{type(error).__name__}: {error}"
        except BaseException as error:
            import traceback; traceback.print_exc()
            sys.stdout.flush(); sys.stderr.flush()
            os._exit(1)
        print(json.dumps([case, 0, told]), flush=True)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        print(json.dumps([case, status, ""]), flush=True)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("faulty") / "faulty.so"
    include = [f"-I{sysconfig.get_include()}", f"-I{SOURCES}"]
    command = ["gcc", "-shared", "-fPIC", "-O1", "-w", *include, str(SOURCES / "faulty_c.c"), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


def run_cases(path, cases):
    """Return {case: what it came to}; a negative number is the signal that ended it."""
    arguments = [*command(), "-c", SCRIPT, str(path), json.dumps(cases)]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False, env=dict(os.environ))
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == len(cases), result.stderr
    return {case: told if status == 0 else -status for case, status, told in lines}, result.stderr


# The quick test leaves out what lies between the extremes.
@pytest.mark.parametrize("is_quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_value_of_a_field_ends_the_process(library, is_quick):
    described = ctypes.CDLL(str(library))
    described.field_name.restype = ctypes.c_char_p
    cases = ["none=0"]
    for i in range(described.field_count()):
        name, size = described.field_name(i).decode(), described.field_size(i)
        is_pointer = size == 8 and name not in ("bad_size", "bad_text", "bad_tmp")
        values = (0,) if is_pointer else SIZES if size == 8 else NUMBERS
        values = [value for value in values if is_pointer or not is_quick or abs(value) not in (0, 1, 2**40)]
        cases += [f"{name}={value}" for value in values]
    outcomes, errors = run_cases(library, cases)
    assert outcomes["none=0"] == "works"
    ended = {case: outcome for case, outcome in outcomes.items() if not isinstance(outcome, str)}
    assert not ended, errors[-3000:]
    assert len(cases) > (100 if is_quick else 200)


AT_LOADING = {
    "library.size=0": "oneop_library.size: expected at least 40, found 0",
    "library.num_ops=-1": "oneop_library.num_ops: expected 0 to 65536, found -1",
    "library.ops=0": "oneop_library.num_ops is 2, and the list is a null pointer",
    "op.num_inputs=2147483647": 'op "plain_c_relu", num_inputs: expected 0 to 65536, found 2147483647',
    "ops[0]=0": "expected a oneop_op_def, found a null pointer",
}
AT_THE_CALL = {
    "bad_ndim=-1": 'op "plain_c_relu": inference gave output "y" the impossible number of dimensions -1',
    "bad_ndim=100000": "the impossible number of dimensions 100000 (expected 0 to 32)",
    "bad_size=-1": "the impossible shape float32[-1]",
    "bad_size=4611686018427387904": "the impossible shape float32[4611686018427387904]",
    "bad_shape=1": "the impossible address of a shape",
    "bad_count=2147483647": "output count: expected 0 to 65536, found 2147483647",
    "y_def.count=2147483647": 'output "y" cannot have 2147483647 tensors',
}


@pytest.fixture(scope="module")
def said(library):
    return run_cases(library, [*AT_LOADING, *AT_THE_CALL])[0]


@pytest.mark.parametrize("fault", AT_LOADING)
def test_what_is_said_at_loading(library, said, fault):
    lines = said[fault].splitlines()
    assert lines[0] == f"AbiError: {library}: {AT_LOADING[fault]}"
    assert lines[1] == "  the library is damaged, or fills in the structs of oneop/abi.h wrongly: rebuild it"


@pytest.mark.parametrize("fault", AT_THE_CALL)
def test_what_is_said_at_the_call(said, fault):
    assert AT_THE_CALL[fault] in said[fault]


def test_texts_that_are_not_utf_8(inline, tmp_path):
    inline(r"""
        KERNEL(Fail, { CHECK(false) << "caf\xe9 \xff"; })
        REGISTER_USER_OP("i_bytes").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
        REGISTER_FOR("i_bytes", Fail, float, "x")
    """)
    for call in (oneop.ops.i_bytes, torch.ops.oneop.i_bytes):
        with pytest.raises(oneop.errors.CheckError, match=r"caf\\xe9 \\xff"):
            call(torch.ones(1))
    path = tmp_path / os.fsdecode(b"caf\xe9") / "not_a_library.so"
    path.parent.mkdir()
    path.write_bytes(b"not a library")
    with pytest.raises(oneop.errors.LoadError, match="caf"):
        oneop.load(path)
    with pytest.raises(oneop.errors.RegistrationError, match=r'op "i\\xe9": the name is not an identifier'):
        inline(r'REGISTER_USER_OP("i\xe9").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);')


@pytest.mark.parametrize("where", ("kernel", "inference"))
def test_an_argument_that_the_op_does_not_have(inline, where):
    asks = {place: "(name, index)" if place == where else '("x", 0)' for place in ("kernel", "inference")}
    asked = 'const auto name = ctx->Attr<std::string>("name"); const auto index = ctx->Attr<int32_t>("index");'
    inline(f"""
        KERNEL(Names, {{
          {asked}
          CHECK(ctx->Tensor4ArgNameAndIndex("more", 0) == nullptr) << "more was not given";
          Out<T>(ctx, "y")[0] = ctx->Tensor4ArgNameAndIndex{asks["kernel"]}->dptr<T>()[0];
        }})
        REGISTER_USER_OP("i_names").Input("x").OptionalInput("more").Output("y").NoGrad()
            .Attr<std::string>("name").Attr<int32_t>("index").SetTensorDescInferFn(
            [](InferContext* ctx) -> Maybe<void> {{
              {asked}
              *ctx->OutputShape("y", 0) = ctx->TensorDesc4ArgNameAndIndex{asks["inference"]}->shape();
              return Maybe<void>::Ok();
            }});
        REGISTER_FOR("i_names", Names, float, "x")
    """)
    assert oneop.ops.i_names(torch.ones(1), name="x", index=0).item() == 1
    for name, index, text in [
        ("typo", 0, 'op "i_names" has no argument "typo"; its arguments are: x, more, y'),
        ("x", 1, 'op "i_names" has 1 tensor in argument "x", not one of index 1'),
        ("x", -1, 'op "i_names" has 1 tensor in argument "x", not one of index -1'),
    ]:
        with pytest.raises(oneop.errors.OpIndexError) as raised:
            oneop.ops.i_names(torch.ones(1), name=name, index=index)
        assert text in str(raised.value)


def test_kernel_state_outlives_many_attribute_values(ops):
    x = torch.ones(1)
    first = ops.t_counting(x, which=-5)[0].item()
    for which in range(10_000, 10_000 + 4200):  # more than the cache of plans keeps
        ops.t_counting(x, which=which)
    assert ops.t_counting(x, which=-5)[0].item() == first + 1
