"""The CUDA kernels of examples/gallery against torch in float64: sizes, dtypes, layouts, gradients, compile, jobs."""

import pytest
import torch
from gallery_cases import CASES, Case, program
from test_gallery import LIMITS, strided

import oneop

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

CALLS = [pytest.param(case, dtype, id=f"{case.name}-{str(dtype)[6:]}") for case in CASES for dtype in case.dtypes]
WITH_GRADIENT = [call for call in CALLS if call.values[0].is_differentiable]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

#: Rows of each length that is worked on in another way: a warp, a block, several passes; in packs and one by one.
COLUMNS = (1, 2, 33, 64, 130, 512, 2048, 4097, 6144, 12288, 100_003, 151_936)
SIZES = [(0, 4), (1, 1), *((5, n) for n in COLUMNS), (4097, 24), (601, 257)]
GRADIENT_SIZES = [(0, 4), (5, 33), (67, 64), (9, 2048), (3, 6144), (3, 12288), (2, 100_003), (1203, 136)]
#: The page says that int8_linear takes no longer rows.
MOST_COLUMNS = {"int8_linear": 132_104}


def made(case: Case, rows, columns, dtype, seed=1):
    """Inputs on the GPU and attributes; None where the page names a limit that is passed."""
    if columns > MOST_COLUMNS.get(case.name, columns):
        return None
    inputs, attrs = case.make(torch.Generator().manual_seed(seed), rows, columns, dtype)
    return [tensor.cuda() for tensor in inputs], attrs


def expected_of(case: Case, inputs, attrs):
    """What the reference gives. Where an op rounds on the way, the CPU's: torch divides otherwise on the GPU."""
    if case.is_exact:
        return [tensor.cuda() for tensor in case.expected([tensor.cpu() for tensor in inputs], attrs)]
    return case.expected(inputs, attrs)


def moved(tensor):
    """The same values where no pack may start: one element after the beginning of the memory."""
    memory = tensor.new_empty(tensor.numel() + 1)
    result = memory[1:].view(tensor.shape)
    result.copy_(tensor)
    return result


def assert_close(outputs, expected, limit, what):
    assert len(outputs) == len(expected)
    for number, (output, other) in enumerate(zip(outputs, expected, strict=True)):
        assert output.is_cuda
        torch.testing.assert_close(
            output, other.to(output.dtype), rtol=limit, atol=limit, equal_nan=True,
            msg=lambda text, number=number: f"{what}, result {number}: {text}",
        )  # fmt: skip


def results_and_gradients(case, function, inputs, attrs, dtypes=None):
    """The dtypes of the results, and gradients of all floating inputs; what comes back is rounded to `dtypes`."""
    own = [tensor.detach().clone().requires_grad_(tensor.is_floating_point()) for tensor in inputs]
    results = [result for result in case.results(function, own, attrs) if result.is_floating_point()]
    dtypes = dtypes or [result.dtype for result in results]
    back = [
        torch.linspace(0.5, 1.5, result.numel(), device="cuda").view(result.shape).to(dtype).to(result.dtype)
        for result, dtype in zip(results, dtypes, strict=True)
    ]
    wanted = own[:1] if case.folder == "rotary" else [tensor for tensor in own if tensor.requires_grad]
    return dtypes, torch.autograd.grad(results, wanted, back)


@pytest.mark.parametrize(("case", "dtype"), CALLS)
def test_values(case, dtype):
    for rows, columns in SIZES:
        if call := made(case, rows, columns, dtype):
            outputs = case.results(case.op, *call)
            assert_close(outputs, expected_of(case, *call), LIMITS[dtype], f"{rows} x {columns}")


@pytest.mark.parametrize(("case", "dtype"), CALLS)
def test_layouts(case, dtype):
    for rows, columns in ((5, 64), (3, 4096), (2, 12288), (7, 31)):
        inputs, attrs = made(case, rows, columns, dtype, seed=2)
        expected = expected_of(case, inputs, attrs)
        for change in (strided, moved):
            outputs = case.results(case.op, [change(tensor) for tensor in inputs], attrs)
            assert_close(outputs, expected, LIMITS[dtype], f"{change.__name__}, {rows} x {columns}")
    inputs, attrs = made(case, 4, 64, dtype)
    own = [moved(tensor) for tensor in inputs]
    case.op(*own, **attrs)
    if case.is_in_place:  # changed where they are
        assert_close(own, expected_of(case, inputs, attrs), LIMITS[dtype], "in place, moved")


@pytest.mark.parametrize(("case", "dtype"), WITH_GRADIENT)
def test_gradients(case, dtype):
    reference = program(case.folder)[case.name]
    for rows, columns in GRADIENT_SIZES:
        inputs, attrs = made(case, rows, columns, dtype, seed=3)
        dtypes, gradients = results_and_gradients(case, case.op, inputs, attrs)
        wide = [tensor.double() if tensor.is_floating_point() else tensor for tensor in inputs]
        expected = results_and_gradients(case, reference, wide, attrs, dtypes)[1]
        # Sums over rows of numbers that were rounded to the dtype on the way.
        limit = LIMITS[dtype] * max(1.0, (rows / 64) ** 0.5)
        assert_close(gradients, expected, limit, f"{rows} x {columns}")


@pytest.mark.parametrize(("case", "dtype"), CALLS)
def test_every_run_gives_the_same_bits(case, dtype):
    for rows, columns in ((300, 70), (9, 12288)):
        inputs, attrs = made(case, rows, columns, dtype, seed=4)
        first = case.results(case.op, inputs, attrs)
        assert all(torch.equal(a, b) for a, b in zip(first, case.results(case.op, inputs, attrs), strict=True))
        if case.is_differentiable:
            first = results_and_gradients(case, case.op, inputs, attrs)[1]
            again = results_and_gradients(case, case.op, inputs, attrs)[1]
            assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


@every_case
def test_special_values(case):
    """As on the CPU, where `oneop check` compares them with the reference."""
    for columns in (8, 33, 9000):
        inputs, attrs = case.make(torch.Generator().manual_seed(5), 7, columns, torch.float32)
        flat = inputs[0].view(inputs[0].shape[0], -1)
        for row, values in enumerate([[torch.nan], [torch.inf], [-torch.inf], [torch.inf, -torch.inf], [0.0], [-0.0]]):
            if row < len(flat):
                flat[row, : len(values)] = torch.tensor(values)
        expected = case.results(case.op, inputs, attrs)
        outputs = case.results(case.op, [tensor.cuda() for tensor in inputs], attrs)
        assert_close(outputs, [tensor.cuda() for tensor in expected], 1e-4, f"{columns} columns")


@every_case
def test_compiled(case):
    inputs, attrs = made(case, 4, 6, torch.float32)
    op = case.op
    compiled = torch.compile(lambda *tensors: op(*tensors, **attrs), fullgraph=True)
    assert_close(case.results(compiled, inputs, {}), case.results(op, inputs, attrs), 1e-6, "compiled")
    if case.is_differentiable:
        dtypes, gradients = results_and_gradients(case, op, inputs, attrs)
        assert_close(results_and_gradients(case, compiled, inputs, {}, dtypes)[1], gradients, 1e-6, "compiled")
    torch.compiler.reset()


@every_case
def test_in_a_job(case):
    """The second run is recorded as a CUDA graph, with the scratch memory of the kernels."""
    if case.is_in_place:
        pytest.skip("a job has no tensors of its caller to change")
    inputs, attrs = made(case, 9, 64, torch.float32)
    op = case.op
    job = oneop.compile_job(lambda *tensors: op(*tensors, **attrs), tuple(inputs))
    for seed in range(4):
        inputs, _ = made(case, 9, 64, torch.float32, seed=seed)
        outputs = job(*inputs)
        outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        assert_close(outputs, case.results(op, inputs, attrs), 1e-6, f"run {seed}")
    assert "one CUDA graph" in str(job.plan())


@pytest.mark.parametrize("name", ["rms_norm", "add_layer_norm", "causal_conv1d"])
def test_gradient_in_a_job(name):
    """Gradients with scratch memory, in a CUDA graph."""
    (case,) = [case for case in CASES if case.name == name]
    inputs, attrs = made(case, 9, 64, torch.float32)
    op = getattr(program(case.folder)["library"], f"{name}_grad")
    attrs = {"silu": False, **attrs} if name == "causal_conv1d" else attrs

    def run(*tensors):
        first, *weights = tensors
        if name == "add_layer_norm":
            return op(first, weights[1], first * 2, first * 3, **attrs)
        return op(first, *weights, first * 2, **attrs)

    job = oneop.compile_job(run, tuple(inputs))
    for seed in range(4):
        inputs, _ = made(case, 9, 64, torch.float32, seed=seed)
        assert_close(list(job(*inputs)), list(run(*inputs)), 1e-6, f"run {seed}")


def test_indices_that_are_not_there():
    """They cannot be refused without waiting for the GPU; what they give is written on the page."""
    ops = {case.name: case.op for case in CASES}
    logits = torch.randn(4, 9000, device="cuda", requires_grad=True)
    target = torch.tensor([0, 9000, -1, -100], device="cuda")
    loss, lse = ops["cross_entropy"](logits, target)
    assert loss.isnan().tolist() == [False, True, True, False] and not lse.isnan().any()
    (dlogits,) = torch.autograd.grad(loss.sum(), logits)
    assert dlogits.isnan().all(-1).tolist() == dlogits.isnan().any(-1).tolist() == [False, True, True, False]

    x, index = torch.randn(6, 5, device="cuda"), torch.tensor([0, 1, -1, 3, 1, 7], device="cuda")
    kept = index.clamp(0, 2) == index
    total = ops["segment_sum"](x, index, segments=3)
    torch.testing.assert_close(total, torch.zeros(3, 5, device="cuda").index_add(0, index[kept], x[kept]))
    library = program("segment_reduce")["library"]
    gathered = library.segment_gather(total, index, segments=3)
    assert torch.equal(gathered[kept], total[index[kept]]) and gathered[~kept].isnan().all()
    y, row = ops["segment_max"](x, index, segments=3)
    assert torch.equal(y[0], x[0]) and row[0].tolist() == [0] * 5 and row[2].tolist() == [-1] * 5
    assert not library.segment_max_grad(index, row, torch.ones_like(y))[~kept].any()

    cache = torch.randn(2, 2, 1, 8, device="cuda")
    table, lengths = torch.tensor([[2, 1], [0, 1], [0, -1]], device="cuda"), torch.tensor([4, 9, -3], device="cuda")
    pages = ops["paged_gather"](cache, table, lengths, length=4)
    assert pages[0, :2].isnan().all() and torch.equal(pages[0, 2:], cache[1])
    assert torch.equal(pages[1], cache.flatten(0, 1)) and not pages[2].any()
    whole = ops["paged_gather"]((cache * 9).to(torch.int8), table, lengths, length=4)
    assert (whole[0, :2] == -1).all()


def test_segments_of_any_kind():
    """All rows in one segment, a segment for each row, and most segments empty: runs over many pieces of the work."""
    (case,) = [case for case in CASES if case.name == "segment_sum"]
    (largest,) = [case for case in CASES if case.name == "segment_max"]
    for rows, columns in ((100_000, 3), (5000, 64), (2049, 700), (70_000, 16)):
        x = torch.randn(rows, columns, device="cuda")
        for segments, index in (
            (1, torch.zeros(rows, dtype=torch.int64)),
            (rows, torch.randperm(rows)),
            (10**5, torch.randint(10**5, (rows,))),
            (300, torch.arange(rows) * 300 // rows),
            (257, (torch.arange(rows) % 7).clamp(max=3) * 64),
        ):
            call = [x, index.cuda()], {"segments": segments}
            assert_close(case.results(case.op, *call), expected_of(case, *call), 1e-4, f"{rows}, {segments} segments")
            outputs, expected = largest.results(largest.op, *call), expected_of(largest, *call)
            assert_close(outputs, expected, 0.0, f"largest, {rows}, {segments} segments")


def test_a_gradient_of_another_size_is_refused():
    library = program("swiglu")["library"]
    with pytest.raises(oneop.errors.OneopError, match="expected dy with half the columns of x"):
        library.swiglu_grad(torch.randn(2, 8, device="cuda"), torch.randn(2, 8, device="cuda"))


@pytest.mark.parametrize("name", ["rms_norm", "swiglu", "cross_entropy"])
def test_more_elements_than_32_bits_count(name):
    (case,) = [case for case in CASES if case.name == name]
    rows, columns = 270_001, 8192  # 2.2e9 elements
    x = torch.randn(1, columns, device="cuda", dtype=torch.bfloat16).repeat(rows, 1)
    x[-1] = torch.randn(columns, device="cuda")
    others = {"rms_norm": [x[0].clone()], "swiglu": [], "cross_entropy": [torch.arange(rows, device="cuda") % columns]}
    last = slice(-2, None)
    outputs = case.results(case.op, [x, *others[name]], {})
    few = [tensor[last] if len(tensor) == rows else tensor for tensor in [x, *others[name]]]
    assert_close([output[last] for output in outputs], case.results(case.op, few, {}), 0.0, name)


def test_big_int8_products():
    """Tiles that are full and that are not, the depth in parts and whole; sums are exact, so results are equal."""
    (case,) = [case for case in CASES if case.name == "int8_linear"]
    for m, k, n in (
        (1, 4096, 4096),
        (16, 1000, 300),
        (64, 8192, 128),
        (65, 77, 1),
        (300, 1024, 515),
        (2048, 512, 4096),
    ):
        x = torch.randn(m, k, device="cuda")
        w = torch.randint(-128, 128, (n, k), device="cuda").to(torch.int8)
        call = [x, w, torch.rand(n, device="cuda")], {}
        assert_close(case.results(case.op, *call), expected_of(case, *call), 1e-6, f"{m} x {k} x {n}")
