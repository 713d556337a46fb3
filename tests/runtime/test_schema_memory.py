"""An op that is defined again with another schema is for torch what it is now, not what it was."""

import functools
import gc
import random
import sys

import pytest
import torch
from torch._inductor.utils import fresh_cache
from torch._subclasses.fake_tensor import get_schema_info
from torch.fx.operator_schemas import normalize_function
from torch.utils._python_dispatch import get_alias_info

import oneop
from oneop.registry import isolated
from oneop.runtime.schema_memory import BY_NAME, BY_OVERLOAD, CACHED_FUNCTIONS

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compilers


def _double(x):
    return x * 2


def _times(x, k):
    return x * k


def _sum(x, y):
    return x + y


def _change(x, k):
    x *= k


#: Schema, kernel, and a call that returns something to compare.
SCHEMAS = {
    "memory_op(Tensor x) -> Tensor": (_double, lambda x: oneop.ops.memory_op(x)),
    "memory_op(Tensor x, *, int k) -> Tensor": (_times, lambda x: oneop.ops.memory_op(x, k=3)),
    "memory_op(Tensor x, Tensor y) -> Tensor": (_sum, lambda x: oneop.ops.memory_op(x, x)),
    "memory_op(Tensor(a!) x, *, int k) -> ()": (_change, lambda x: (oneop.ops.memory_op(x, k=5), x + 1)[1]),
}


def _define(schema):
    changes = "!" in schema
    op = oneop.define(schema, **({} if changes else {"infer": "elementwise"}))
    op.register_kernel(SCHEMAS[schema][0])
    return torch.ops.oneop.memory_op.default


def _order(seed):
    """Every schema follows another one, in an order of its own."""
    order = list(SCHEMAS)
    random.Random(seed).shuffle(order)
    return order + order[:1]


@pytest.mark.parametrize("seed", range(6))
def test_memories_follow_the_schema(seed):
    for schema in _order(seed):
        with isolated():
            overload = _define(schema)
            arguments = overload._schema.arguments
            writes = [argument.is_write for argument in arguments]
            assert [argument.is_write for argument in get_alias_info(overload).args] == writes, schema
            assert get_schema_info(overload).is_mutable() == any(writes), schema
            x = torch.ones(2)
            tensors = tuple(x for argument in arguments if not argument.kwarg_only)
            attrs = {argument.name: 2 for argument in arguments if argument.kwarg_only}
            assert normalize_function(overload, tensors, attrs) is not None, schema


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_after_another_schema(backend):
    for schema in _order(1):
        with isolated():
            _define(schema)
            call = SCHEMAS[schema][1]
            torch._dynamo.reset()
            x = torch.arange(12.0).reshape(3, 4).t()
            assert torch.equal(torch.compile(call, backend=backend)(x.clone()), call(x.clone())), schema


#: Memories that hold an op and nothing that follows from its schema.
HARMLESS = {
    ("torch._ops", "cached_ops"): "whose dispatch tables are cleared when a mode is entered",
    ("torch._functorch._aot_autograd.runtime_wrappers", "_is_fsdp_all_gather_copy_in"): "asks which op it is",
}


def test_torch_has_no_other_memory_of_ops(tmp_path):
    """After the op took many routes, look through the dictionaries, sets and cached functions of torch's modules."""
    with isolated():
        overload = _define("memory_op(Tensor x, *, int k) -> Tensor")
        call = SCHEMAS["memory_op(Tensor x, *, int k) -> Tensor"][1]
        with fresh_cache():  # a program compiled before would be read from disk, and lowered no more
            _take_many_routes(call, overload, tmp_path)
        known = {*CACHED_FUNCTIONS, *BY_NAME, *BY_OVERLOAD, *HARMLESS}
        assert _memories_of(overload) <= known
        assert {*BY_NAME, *BY_OVERLOAD, *CACHED_FUNCTIONS[:2]} <= _memories_of(overload), "the search finds nothing"


def _take_many_routes(call, overload, tmp_path):
    class Module(torch.nn.Module):
        def forward(self, x):
            return call(x)

    x = torch.randn(4, 4)
    torch._dynamo.reset()
    torch.compile(Module())(x.t())
    torch.compile(Module(), dynamic=True)(x)
    program = torch.export.export(Module(), (x,)).run_decompositions()
    torch.export.save(program, tmp_path / "program.pt2")
    torch.func.vmap(Module())(x)
    torch.library.opcheck(overload, (x,), {"k": 2})
    get_alias_info(overload)


def _memories_of(overload):
    """Return (module, name) of what in torch's modules has the op among its keys."""

    def mentions(key, depth=0):
        if isinstance(key, tuple | list | frozenset) and depth < 3:
            return any(mentions(part, depth + 1) for part in key)
        return key is overload or (isinstance(key, str) and key == "oneop::memory_op")

    def holds(memory):
        if isinstance(memory, functools._lru_cache_wrapper):
            kept = [part for part in gc.get_referents(memory) if isinstance(part, dict)]
            return any(mentions(key) for part in kept for key in list(part))
        return isinstance(memory, dict | set) and any(mentions(key) for key in list(memory))

    memories = {}
    for module_name, module in sorted(sys.modules.items()):
        if module_name == "torch" or module_name.startswith("torch."):
            for name, memory in list(vars(module).items()):
                if holds(memory):
                    memories.setdefault(id(memory), []).append((module_name, name))
    names = set()
    for places in memories.values():  # one memory is known in several modules
        known = [place for place in places if place in {*CACHED_FUNCTIONS, *BY_NAME, *BY_OVERLOAD, *HARMLESS}]
        names.add(known[0] if known else places[0])
    return names
