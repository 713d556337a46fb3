"""Two libraries that define an op of one name: the second one is refused, whole, and the first one stays."""

import numpy as np
import pytest

from oneop.errors import DuplicateOpError, OpNotFoundError

X = np.ones(2, np.float32)
REFUSED = r'op "twice_\w+" is registered twice\n  first: .*\n  second: .*\n  op names are global: rename one of them'


@pytest.fixture
def names(request):
    """The op that both libraries define, and the second one's own. Each test has others, since a process keeps them."""
    return f"twice_{request.node.name}", f"twice_{request.node.name}_own"


@pytest.fixture
def libraries(tmp_path, names):
    """Two libraries that define one op, by the factors 2 and 3, after another op of the second one."""
    from oneop._build.library import build

    shared, own = names

    def made(library, ops, factor):
        functor = f".elementwise<float>([](auto x) {{ return {factor} * x; }}).no_grad();"
        source = tmp_path / f"{library}.cpp"
        source.write_text(
            '#include "oneop/op.h"\n' + "\n".join(f'OP("{op}(Tensor x) -> Tensor y"){functor}' for op in ops)
        )
        return build(f"{shared}_{library}", [source])

    return made("one", [shared], 2), made("other", [own, shared], 3)


def test_numpy(libraries, names):
    import oneop.numpy as onp

    one, other = libraries
    first = onp.load(one)
    for _ in range(2):
        with pytest.raises(DuplicateOpError, match=REFUSED):
            onp.load(other)
        assert getattr(first, names[0])(X).tolist() == [2, 2]
    packaged = onp.load(other, package="twice_package")  # names of their own
    assert getattr(packaged, names[0])(X).tolist() == [3, 3]
    assert getattr(first, names[0])(X).tolist() == [2, 2]


def test_jax(libraries, names):
    pytest.importorskip("jax.ffi")
    import oneop.jax as ojax

    one, other = libraries
    first = ojax.load(one)
    with pytest.raises(DuplicateOpError, match=REFUSED):
        ojax.load(other)
    with pytest.raises(OpNotFoundError, match=f'no op "{names[1]}" is registered'):
        getattr(ojax.ops, names[1])
    assert np.asarray(getattr(first, names[0])(X)).tolist() == [2, 2]
    packaged = ojax.load(other, package="twice_jax")
    assert np.asarray(getattr(packaged, names[0])(X)).tolist() == [3, 3]
    assert np.asarray(getattr(first, names[0])(X)).tolist() == [2, 2]


def test_onnx_runtime(libraries, names):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    import oneop.onnx as oonnx
    from oneop.onnx.single import node_model

    model = node_model(names[0], [X], ["float32"], {}).SerializeToString()

    def session(library):
        options = oonnx.session_options([library])
        return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])

    one, other = libraries
    first = session(one)
    with pytest.raises(Exception, match=REFUSED):
        oonnx.session_options([other])
    with pytest.raises(Exception, match=REFUSED):
        oonnx.session_options([one, other])
    for each in (first, session(one)):
        assert each.run(None, {"x0": X})[0].tolist() == [2, 2]
