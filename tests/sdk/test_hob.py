"""Predicates: what they match, how they print, and which parts the host can read."""

import pytest
from sdk_pieces import SAME, call, unit

CASES = [  # expression, text, kinds of facts, matches {float cpu with flag=1, size=3}
    ("HobTrue()", "true", [], 1),
    ("HobFalse()", "false", [3], 0),
    ("HobDeviceType() == DeviceType::kCPU", "device_type == kCPU", [1], 1),
    ("HobDeviceType() == DeviceType::kGPU", "device_type == kCUDA", [1], 0),
    ("HobDeviceType() != DeviceType::kCUDA", "!(device_type == kCUDA)", [3], 1),
    ('HobDeviceTag() == "cpu"', "device_type == kCPU", [1], 1),
    ('HobDeviceTag() == "gpu"', "device_type == kCUDA", [1], 0),
    ("HobDeviceTag() == DeviceType::kCPU", "device_type == kCPU", [1], 1),
    ('HobDataType("in", 0) == DataType::kFloat', 'data_type("in", 0) == kFloat', [2], 1),
    ('HobDataType("in", 0) != kFloat', 'data_type("in", 0) != kFloat', [3], 0),
    ('HobDataType("absent", 0) == kFloat', 'data_type("absent", 0) == kFloat', [2], 0),
    ('HobDataType("absent", 0) != kFloat', 'data_type("absent", 0) != kFloat', [3], 0),
    ('HobDataType("in", 0) == HobDataType("out", 0)', 'data_type("in", 0) == data_type("out", 0)', [3], 1),
    ('HobAttr<bool>("flag")', 'attr("flag")', [3], 1),
    ('HobAttr<bool>("flag") == true', 'attr("flag") == true', [3], 1),
    ('!HobAttr<bool>("flag")', '!(attr("flag"))', [3], 0),
    ('HobAttr<int32_t>("size") > 2', 'attr("size") > 2', [3], 1),
    ('HobAttr<int32_t>("size") <= 2', 'attr("size") <= 2', [3], 0),
    ('HobAttr<int32_t>("size") < HobInputSize("in")', 'attr("size") < input_size("in")', [3], 0),
    ('HobAttr<std::string>("mode") == "fast"', 'attr("mode") == fast', [3], 1),
    ('HobDeviceSubTag() == "py"', 'attr("device_sub_tag") == py', [3], 1),
    ('HobInputSize("in") >= 1', 'input_size("in") >= 1', [3], 1),
    ('HobEnvBool("ONEOP_NO_SUCH_VARIABLE", true)', 'env("ONEOP_NO_SUCH_VARIABLE")', [3], 1),
    ('HobEnvBool("ONEOP_NO_SUCH_VARIABLE", false) == true', 'env("ONEOP_NO_SUCH_VARIABLE") == true', [3], 0),
    ('HobCtxGetter<int>("seven", [](const KernelRegContext&) { return 7; }) == 7', "seven == 7", [3], 1),
    ('hob::make_custom([](const KernelRegContext& ctx) { return ctx.Attr<bool>("flag"); })', "custom", [3], 1),
    (
        'hob::make_custom("pair", [](const KernelRegContext& ctx) -> bool { return ctx.inputs().size() == 2; })',
        "pair",
        [3],
        0,
    ),
    (
        '(HobDeviceType() == kCPU) & (HobDataType("in", 0) == kFloat) & (HobAttr<int32_t>("size") == 3)',
        '((device_type == kCPU && data_type("in", 0) == kFloat) && attr("size") == 3)',
        [1, 2, 3],
        1,
    ),
    (
        '(HobDeviceType() == kCPU) && ((HobDataType("in", 0) == kDouble) || (HobDataType("in", 0) == kFloat))',
        '(device_type == kCPU && (data_type("in", 0) == kDouble || data_type("in", 0) == kFloat))',
        [1, 3],
        1,
    ),
    ("~(HobDeviceType() == kCPU) | HobFalse()", "(!(device_type == kCPU) || false)", [3], 0),
    ('HobTrue() && HobAttr<bool>("flag")', '(true && attr("flag"))', [3], 1),
    (
        'HobAttr<bool>("flag") & HobTrue() & HobAttr<bool>("flag")',
        '((attr("flag") && true) && attr("flag"))',
        [3, 3],
        1,
    ),
]


@pytest.fixture(scope="module")
def answers(builder, drive):
    parts = ["using namespace user_op;\nclass K final : public user_op::OpKernel {};"]
    for i, (expression, *_) in enumerate(CASES):
        parts.append(f'REGISTER_USER_OP("op{i}").Input("in").Output("out"){SAME};')
        parts.append(f'REGISTER_USER_KERNEL("op{i}").SetCreateFn<K>().SetIsMatchedHob({expression});')
    library = builder.library(unit(*parts))
    attrs = ["attr flag 3 1", "attr size 1 3", "attr mode 6 fast", "attr device_sub_tag 6 py"]
    script = [line for i in range(len(CASES)) for line in [*call(f"op{i}", 1), *attrs, "match"]]
    lines = drive(library, "describe", *script)
    texts = [line.split(" if ", 1)[1] for line in lines if line.startswith("kernel")]
    facts: list[list[int]] = []
    for line in lines:
        if line.startswith("kernel"):
            facts.append([])
        elif line.startswith("  fact"):
            facts[-1].append(int(line.split()[1]))
    matches = [line.split()[1] for line in lines if line.startswith("match")]
    return list(zip(texts, facts, map(int, matches), strict=True))


@pytest.mark.parametrize("i", range(len(CASES)), ids=[case[0] for case in CASES])
def test_predicate(i, answers):
    assert answers[i] == CASES[i][1:]


def test_a_predicate_that_fails_is_an_error(builder, drive):
    source = unit(
        "class K final : public user_op::OpKernel {};",
        'REGISTER_USER_KERNEL("x").SetCreateFn<K>().SetIsMatchedHob(user_op::HobAttr<bool>("flag") == true);',
    )
    assert drive(builder.library(source), *call("x", 1), "match") == [
        'error 3 ops0.cpp:5 op "x" has no attribute "flag"; its attributes are: none',
        'match failed attr("flag") == true',
    ]
