"""Signatures and functors are compared by type: every pair of types, choice among several, and what is said at load."""

import shutil

import pytest
import torch

import oneop
from oneop.errors import OneopError, RegistrationError

from . import drawing


@pytest.fixture(scope="module", autouse=True)
def library():
    return drawing.load()


def test_every_signature_type_against_every_functor_type():
    """A function gets a functor exactly if the types are the same; torch's enumerators are ints in C++."""
    lines = [line.split() for line in oneop._C.fr_type_matrix().splitlines()]
    types = list(dict.fromkeys(line[0].rstrip("?") for line in lines))
    assert len(types) == 24 and len(lines) == 24 * 22 * 4
    same = {"Layout": "Int32", "MemoryFormat": "Int32"}
    for wanted, found, outcome in lines:
        name = wanted.rstrip("?")
        passed = same.get(name, name) + wanted[len(name) :]
        assert outcome == ("linked" if passed == found else "refused"), (wanted, found)


def test_one_name_several_functors():
    for value, name in [
        (3, "OfInt"),
        (2.5, "OfDouble"),
        ("s", "OfString"),
        ([1, 2], "OfInts"),
        ([1.5, 2], "OfFloats"),
        (torch.ones(1), "OfTensor"),
        ([torch.ones(1)], "OfTensors"),
        (None, "OfOptional"),
    ]:
        assert oneop._C.fr_of(value) == name, value
    x = torch.tensor([2.0, 4.0])
    assert oneop._C.fr_div(x, 2).tolist() == [1.0, 2.0]
    assert oneop._C.fr_div(2, x).tolist() == [1.0, 0.5]
    compiled = torch.compile(lambda x: oneop._C.fr_div(2, x), backend="aot_eager", fullgraph=True)
    assert compiled(x).tolist() == [1.0, 0.5]


def test_the_same_from_cpp():
    named = [oneop._C.fr_from_cpp(which) for which in range(6)]
    assert named == ["OfDouble", "OfInt", "OfDouble", "OfBool", "OfFloats", "OfOptional"]
    with pytest.raises(OneopError, match=r'no functor "FrOf" takes these 2 arguments'):
        oneop._C.fr_from_cpp(6)


FUNCTOR = """struct F_NAME {
  Maybe<%s> operator()(%s) const { return Error(ONEOP_ERROR_RUNTIME, nullptr, 0) << "called"; }
};
"""
#: A function and a functor of each case in one library, which registers the functors of the case that is chosen.
SOURCE = """#include <cstdlib>
#include "oneflow/core/functional/functional.h"
namespace oneflow::one::functional {
FUNCTORS
ONEFLOW_FUNCTION_LIBRARY(m) {
  const std::string chosen = std::getenv("FUNCTORS_OF");
REGISTRATIONS}
}  // namespace oneflow::one::functional
"""
CASES = {
    "type": (
        ("Tensor", "const std::shared_ptr<Tensor>& x, int64_t k"),
        "Tensor (Tensor x, Double k) => Ft_type",
        ['parameter 2 ("k") is a Int64, expected a Double', "functor Ft_type(Tensor, Int64)"],
    ),
    "count": (
        ("Tensor", "const std::shared_ptr<Tensor>& x"),
        "Tensor (Tensor x, Double k) => Ft_count",
        ["it has 1 parameters, expected 2"],
    ),
    "return": (
        ("std::string", "const std::shared_ptr<Tensor>& x"),
        "Tensor (Tensor x) => Ft_return",
        ["it returns String, expected Tensor"],
    ),
    "optional": (
        ("Tensor", "const std::shared_ptr<Tensor>& x, float k"),
        "Tensor (Tensor x, Float k=None) => Ft_optional",
        ['parameter 2 ("k") is a Float, expected an optional Float'],
    ),
    "twice": (
        ("Tensor", "const std::shared_ptr<Tensor>& x"),
        "Tensor (Tensor x) => Ft_twice",
        ["two functors are registered as Ft_twice(Tensor)", "first:", "second:"],
    ),
}


@pytest.fixture(scope="module")
def mismatches(tmp_path_factory):
    """The library, and for each case the lines of its function and functors."""
    folder = tmp_path_factory.mktemp("mismatches")
    functors = "".join(FUNCTOR.replace("F_NAME", f"F_{case}") % code for case, (code, _, _) in CASES.items())
    registrations = "".join(
        f'  if (chosen == "{case}") {{ m.add_functor<F_{case}{", F_twice" * (case == "twice")}>("Ft_{case}"); }}\n'
        for case in CASES
    )
    source = SOURCE.replace("FUNCTORS\n", functors).replace("REGISTRATIONS", registrations)
    (folder / "f.cpp").write_text(source)
    (folder / "api.yaml").write_text(
        "".join(
            f'- name: "ft_{case}"\n  signature: "{signature}"\n  bind_python: True\n'
            for case, (_, signature, _) in CASES.items()
        )
    )
    line = source[: source.index("ONEFLOW_FUNCTION_LIBRARY")].count("\n") + 1
    places = {case: (f"api.yaml:{1 + 3 * i}\n", f"f.cpp:{line}\n") for i, case in enumerate(CASES)}
    return oneop.build("ft_mismatches", [folder / "f.cpp"], functional=[folder / "api.yaml"]), places


@pytest.mark.parametrize("case", CASES)
def test_a_mismatch_is_told_at_load(case, mismatches, tmp_path, monkeypatch):
    _, signature, texts = CASES[case]
    library, places = mismatches
    monkeypatch.setenv("FUNCTORS_OF", case)
    with pytest.raises(RegistrationError) as caught:
        oneop.load(shutil.copy(library.path, tmp_path / f"ft_{case}.so"))
    text = str(caught.value)
    assert len(text.splitlines()) < 12
    for part in texts:
        assert part in text
    if case != "twice":
        assert f'"ft_{case}"' in text and all(place in text for place in places[case]), (text, places[case])
        assert signature.partition(" =>")[0] in text


def test_numbers_that_do_not_fit_are_named():
    for call, text in [
        (lambda: oneop._C.fr_split_into(torch.ones(1), 2**31), "argument 'count' must be an int of 32 bits"),
        (lambda: oneop._C.fr_sum_last(torch.ones(1), 2**70), "argument 'axis' must be an int of 64 bits"),
        (lambda: oneop._C.fr_full([1, "a"]), "element 1 of argument 'size' must be int, not <class 'str'>"),
        (lambda: oneop._C.fr_full([1, 2**70]), "element 1 of argument 'size' must be an int of 64 bits"),
        (
            lambda: oneop._C.fr_full([1], device="nosuch"),
            "argument 'device' must be a device that torch knows, not str",
        ),
        (lambda: oneop._C.fr_drop_nested(torch.ones(1), [torch.ones(1), 3]), "element 1 of argument 'others' must be"),
    ]:
        with pytest.raises(OneopError) as caught:
            call()
        assert text in str(caught.value)


VALUES = [True, 3, 2**40, 2.5, "s", b"s", None, torch.ones(1), [1, 2], [1.5], [torch.ones(1)], torch.float32, 1j]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_no_call_runs_a_functor_of_another_type(value):
    """Whatever is given, the answer is the functor for such values, or an error; never a converted value."""
    names = {bool: "OfInt", int: "OfInt", float: "OfDouble", str: "OfString", type(None): "OfOptional"}
    try:
        name = oneop._C.fr_of(value)
    except OneopError as error:
        assert "invalid combination of arguments" in str(error)
        assert type(value) not in names
    else:
        assert name == names.get(type(value), name)
