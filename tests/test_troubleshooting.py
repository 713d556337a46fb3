"""docs/troubleshooting.md: each error that it quotes is made here, or its text is found in the source."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.cli.main import main
from oneop.registry import isolated
from oneop.testing import check_sbp

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/troubleshooting.md").read_text()
QUOTED = dict(re.findall(r"^### ([^\n]+)\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))

#: Errors that need another machine, and where their texts are.
IN_THE_SOURCE = {
    "No compiler": "src/oneop/_build/compiler.py",
    "Another process builds": "src/oneop/_build/lock.py",
    "A library for another oneop": "csrc/engine/ops/plugin.cpp",
    "A torch that was not tested": "src/oneop/_build/torch_install.py",
    "The check needs hypothesis": "src/oneop/testing/checker.py",
}


@pytest.fixture(scope="module", autouse=True)
def own_registry():
    with isolated():
        yield


def define(schema, kernel=None, *, infer="elementwise", differentiable=False, **options):
    """Define an op with one numpy kernel; a schema of this file may be defined again."""
    op = oneop.define(schema, infer=infer, differentiable=differentiable, **options)
    if kernel is not None:
        op.register_kernel("cpu", dtypes=torch.float32)(kernel)
    return op


def scale():
    return define(
        "scale(Tensor x, *, float by=2.0) -> Tensor y", lambda x, by: x * x.dtype.type(by), differentiable=True
    )


def add_two():
    return define("add_two(Tensor x, Tensor y) -> Tensor z", lambda x, y: x + y)


def ambiguous(x):
    op = define("twice(Tensor x) -> Tensor y")
    op.register_kernel("cpu", when=lambda x: x.ndim > 0)(lambda x: x * 2)
    op.register_kernel("cpu", when=lambda x: x.ndim < 9)(lambda x: x + x)
    op(x)


def changes_input(x):
    def kernel(x):
        x += 1
        return x

    define("bump(Tensor x) -> Tensor y", kernel)(x)


def wrong_gradient(x):
    op = define("halve(Tensor x) -> Tensor y", lambda x: x / 2, differentiable=True)
    op.register_grad(lambda ctx, dy: dy[:1])
    op(x.clone().requires_grad_()).sum().backward()


def no_forward_rule(x):
    op = define("double(Tensor x) -> Tensor y", lambda x: x * 2, differentiable=True)
    op.register_grad(lambda ctx, dy: dy.detach() * 2)
    torch.func.jvp(op, (x,), (x,))


def change_in_place(x):
    op = oneop.define("bump_(Tensor(a!) x) -> ()")
    op.register_kernel("cpu")(lambda x: None)
    op(x.clone().requires_grad_())


def defined_twice(x):
    scale()
    code = "import oneop\noneop.define('scale(Tensor x, int k) -> Tensor y')"
    exec(compile(code, "another_file.py", "exec"))


def unsafe_cache(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    with oneop.settings.override(cache_dir=folder):
        oneop.load_inline("unused", "")


def not_a_library(tmp_path):
    (tmp_path / "ops.so").write_bytes(b"text")
    oneop.load(tmp_path / "ops.so")


def inline(name, body):
    oneop.load_inline(name, f'#include "oneop/op.h"\nOP("{name}(Tensor x) -> Tensor y").elementwise<float>({body});\n')


def job(name, function):
    @oneop.global_function(name=name)
    def run(x: tp.Numpy.Placeholder((5,), dtype=oneop.float32)) -> tp.Numpy:
        return function(x)

    return run


MADE = {
    "The op is not found": lambda x: (scale(), oneop.ops.scael),
    "An attribute is given by position": lambda x: scale()(x, 3.0),
    "An unknown argument": lambda x: scale()(x, bye=3.0),
    "An attribute of the wrong type": lambda x: scale()(x, by="2"),
    "An array in place of a tensor": lambda x: scale()(x.numpy()),
    "Shapes that differ": lambda x: add_two()(x, x[:1]),
    "Inputs on different devices": lambda x: add_two()(x, x.to("meta")),
    "No kernel takes the call": lambda x: scale()(x.int()),
    "Several kernels take the call": ambiguous,
    "A kernel returns another shape or dtype": lambda x: define("first(Tensor x) -> Tensor y", lambda x: x[:1])(x),
    "A kernel changes its input": changes_input,
    "No inference": lambda x: define("copy(Tensor x) -> Tensor y", lambda x: x, infer=None)(x),
    "An implied rule that does not hold": lambda x: torch.vmap(
        define("share(Tensor x) -> Tensor y", lambda x: x / x.sum())
    )(torch.ones(3, 4)),
    "No gradient": lambda x: scale()(x.clone().requires_grad_()),
    "A gradient of the wrong shape": wrong_gradient,
    "No forward-mode rule": no_forward_rule,
    "An input that is changed in place requires grad": change_in_place,
    "A schema that cannot be read": lambda x: oneop.define("f(Tensor x, *, flaot k) -> Tensor y"),
    "A name that is taken": defined_twice,
    "A functor that does not fit its schema": lambda x: inline("plus", "[](auto x, auto z) { return x; }"),
    "A source does not compile": lambda x: inline("faulty", "[](auto x) { return x * z; }"),
    "The cache is not safe": unsafe_cache,
    "A file that is not a library": not_a_library,
    "Another shape": lambda x: job("train", torch.relu)(np.ones(4, np.float32)),
    "A shape that depends on data": lambda x: job("train_positive", lambda x: x[x > 0])(np.ones(5, np.float32)),
    "A signature that does not hold": lambda x: check_sbp(
        define("k_relu(Tensor x) -> Tensor y", lambda x: x.clip(0), infer="same_shape", sbp=["P -> P"]),
        [torch.randn(5, 7)],
    ),
    "No op to work on": None,  # below: it goes to stderr
}


def assert_quoted(name, message):
    """Each line of a quotation is a line of the message, in order; `...` stands for anything."""
    lines = iter(message.splitlines())
    for quoted in QUOTED[name].splitlines():
        pattern = ".*".join(re.escape(part) for part in quoted.split("..."))
        assert any(re.fullmatch(pattern, line) for line in lines), f"{quoted!r} is not in, or not in order:\n{message}"


@pytest.mark.parametrize("name", [name for name, make in MADE.items() if make is not None])
def test_an_error_is_as_quoted(name, tmp_path):
    make = MADE[name]
    with pytest.raises(oneop.OneopError) as caught:
        make(tmp_path if "tmp_path" in make.__code__.co_varnames else torch.ones(3))
    assert_quoted(name, str(caught.value))


def test_a_command_is_as_quoted(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2
    assert_quoted("No op to work on", capsys.readouterr().err)


@pytest.mark.parametrize("name", IN_THE_SOURCE)
def test_a_text_is_in_the_source(name):
    source = re.sub(r'"\s*f?"|\\n', "", (ROOT / IN_THE_SOURCE[name]).read_text())
    for part in re.split(r"\.\.\.|\n", QUOTED[name]):
        assert part.strip(" ,;") in source, part


def test_the_page_has_what_is_made_here():
    assert {*QUOTED} == {*MADE} | {*IN_THE_SOURCE}
    assert len(re.findall(r"^### ", PAGE, re.MULTILINE)) == len(QUOTED)
