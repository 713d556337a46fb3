"""The small things that op files expect: macros, types, shapes, splitters, half precision, include paths."""

import struct

import numpy as np
import pytest
from sdk_pieces import SAME, call, kernel, unit

MACROS = """
#define COUNT_ONE(...) +1
#define ADD_SIZE(type, code) +sizeof(type) + 0 * static_cast<int>(code)
#define PRODUCT(device, pair) +(device == kCPU ? 1 : 100) * sizeof(OF_PP_PAIR_FIRST(pair))
#define TRIPLE(a, b, c) +a * b * c
#define QUAD(a, b, c, d) +a * b * c * d
static_assert((0 OF_PP_FOR_EACH_TUPLE(ADD_SIZE, FLOATING_DATA_TYPE_SEQ)) == 12, "");
static_assert((0 OF_PP_FOR_EACH_TUPLE(COUNT_ONE, ARITHMETIC_DATA_TYPE_SEQ)) == 5, "");
static_assert((0 OF_PP_FOR_EACH_TUPLE(COUNT_ONE, POD_DATA_TYPE_SEQ)) == 8, "");
static_assert((0 OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(PRODUCT, DEVICE_TYPE_SEQ, FLOATING_DATA_TYPE_SEQ)) == 1212, "");
static_assert((0 OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(TRIPLE, (1)(2), (3)(4), (5)(6))) == 3 * 7 * 11, "");
static_assert((0 OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(QUAD, (1)(2), (3)(4), (5)(6), (7)(8)(9))) == 3 * 7 * 11 * 24, "");
static_assert((0 OF_PP_FOR_EACH_ATOMIC(COUNT_ONE, (a)(b)(c))) == 3 && OF_PP_SEQ_SIZE((a)(b)(c)) == 3, "");
static_assert(OF_PP_CAT(1, 2) == 12 && sizeof(OF_PP_STRINGIZE(a b)) == 4, "");
static_assert(GetDataType<int64_t>::value == kInt64 && GetDataType<float16>::value == DataType::kFloat16, "");
static_assert(DeviceType::kGPU == DeviceType::kCUDA && UserOpAttrType::kAtListShape == 13, "");
"""

CHECKS = """
    CHECK_EQ(DataType_Name(kBFloat16), "kBFloat16");
    CHECK_EQ(DataType_Name(static_cast<DataType>(33)), "kFloat8E5M2");
    CHECK_EQ(DataType_Name(static_cast<DataType>(99)), "an unknown data type");
    CHECK_EQ(GetSizeOfDataType(kComplex128), 16);
    CHECK(IsFloatingDataType(kBFloat16) && IsIntegralDataType(kUInt8) && !IsIntegralDataType(kBool));
    CHECK(IsIndexDataType(kInt32) && IsBoolDataType(kBool) && IsComplexDataType(kComplex64));
    CHECK(IsTriviallyCopyableDataType(kFloat) && !IsTriviallyCopyableDataType(kTensorBuffer));
    CHECK_EQ(DeviceType_Name(kCUDA), "kCUDA");

    Shape shape({2, 3, 4});
    CHECK_EQ(shape.elem_cnt(), 24);
    CHECK_EQ(shape.Count(1), 12);
    CHECK_EQ(shape.Count(0, 2), 6);
    CHECK_EQ(shape.ToString(), "(2,3,4)");
    CHECK(shape == Shape(shape.dim_vec()) && shape != Shape({2, 3}) && shape.Containing(Shape({2, 3})));
    CHECK_EQ(Shape({1, 3, 1}).RemoveOnes(), Shape({3}));
    CHECK_EQ(Shape::Ones(2), Shape({1, 1}));
    CHECK_EQ(shape.Slice(1, 3), Shape({3, 4}));
    CHECK_EQ(Shape().elem_cnt(), 1);
    CHECK_EQ(CreateReducedShape(shape, {-1, 0}), Shape({1, 3, 1}));
    CHECK_EQ(CreateReducedShapeOrOnesShape(shape, {}), Shape({1, 1, 1}));
    CHECK_EQ(CreateLeftExtendedShape(shape, 5), Shape({1, 1, 2, 3, 4}));
    CHECK_EQ(ExpandDimIf0D(Shape()), Shape({1}));
    CHECK_EQ(ShiftNegativeAxis(-1, 3), 2);
    CHECK_EQ(Shape({1, 3}).Axes4BroadcastTo(Shape({2, 3})), AxisVector({0}));
    CHECK_EQ(Stride(shape), Stride({12, 4, 1}));
    int64_t sum = 0;
    for (int64_t dim : Shape({5, 6}).dim_vec()) { sum += dim; }
    CHECK_EQ(sum, 11);
    ShapeView view = shape;
    CHECK(view == shape && view.ptr() == shape.ptr() && Shape(view) == shape);
    DimVector dims = shape.dim_vec();
    dims.insert(dims.begin() + 1, 9);
    dims.erase(dims.begin());
    dims.push_back(7);
    CHECK_EQ(Shape(dims), Shape({9, 3, 4, 7}));
    CHECK_EQ(Shape(std::vector<int64_t>{1, 2}), Shape({1, 2}));

    int64_t last = 0;
    FOR_RANGE(int64_t, i, 2, 5) { last = i; }
    CHECK_EQ(last, 4);
    BalancedSplitter splitter(10, 4);
    CHECK(splitter.At(0) == Range(0, 3) && splitter.At(1) == Range(3, 6) && splitter.At(3) == Range(8, 10));
    NdIndexOffsetHelper<int64_t, 3> helper(2, 3, 4);
    CHECK_EQ(helper.NdIndexToOffset(1, 2, 3), 23);
    int64_t a, b, c;
    helper.OffsetToNdIndex(17, a, b, c);
    CHECK(a == 1 && b == 1 && c == 1);
    NdIndexOffsetHelper<int32_t, 4> from_dims(shape.ptr(), 3);
    int32_t index[4] = {1, 0, 2, 0};
    CHECK_EQ(from_dims.NdIndexToOffset(index, 3), 14);
    HashMap<std::string, int> map{{"a", 1}};
    CHECK_EQ(map.at("a"), 1);
    CHECK_EQ(std::sqrt(16.0), std::max(4.0, 1.0));
    CHECK_EQ(std::get<0>(std::make_tuple(1, 2)), 1);
"""

INCLUDES = [
    "oneflow/core/common/balanced_splitter.h", "oneflow/core/common/complex.h", "oneflow/core/common/data_type.h",
    "oneflow/core/common/data_type.pb.h", "oneflow/core/common/hash_container.h", "oneflow/core/common/just.h",
    "oneflow/core/common/maybe.h", "oneflow/core/common/nd_index_offset_helper.h",
    "oneflow/core/common/preprocessor.h", "oneflow/core/common/shape.h", "oneflow/core/common/shape_view.h",
    "oneflow/core/common/stride.h", "oneflow/core/common/throw.h", "oneflow/core/common/util.h",
    "oneflow/core/ep/cpu/cpu_stream.h", "oneflow/core/ep/cuda/cuda_stream.h", "oneflow/core/framework/device.h",
    "oneflow/core/framework/infer_util.h", "oneflow/core/framework/op_kernel.h",
    "oneflow/core/framework/user_op_registry_manager.h", "oneflow/core/kernel/cuda_graph_support.h",
    "oneflow/core/kernel/kernel_util.h", "oneflow/core/kernel/new_kernel_util.h",
    "oneflow/core/thread/thread_manager.h",
]  # fmt: skip
HELPERS = "".join(f'#include "{path}"\n' for path in INCLUDES)


def test_macros_types_and_helpers(builder, drive):
    source = unit(MACROS, f'REGISTER_USER_OP("x").Input("in").Output("out"){SAME};', kernel("x", CHECKS))
    lines = drive(builder.library(HELPERS + source), *call("x", 1), "run")
    assert lines[-1] == "run 0", lines


def test_every_header_stands_alone(builder):
    for path in INCLUDES[::4]:  # each costs a third of a second
        result = builder.compile(f'#include "{path}"\n', "-Werror", "-fsyntax-only")
        assert result.returncode == 0, result.stderr


HALF = """
    const float* in = in_tensor->dptr<float>();
    float* out = out_tensor->mut_dptr<float>();
    for (int64_t i = 0; i != n / 2; ++i) {
      out[2 * i] = {type}(in[2 * i]);
      out[2 * i + 1] = {type}(in[2 * i]).x;
    }
"""


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_rounds_as_numpy_does(kind, builder, drive):
    values = [0.0, -0.0, 1.0, 1 / 3, -2.7, 65504.0, 65519.9, 65520.0, 6e-8, 2.98e-8, 2.99e-8, 1e-7, 6.1e-5, 3e38, 1e-40,
              1.00048828125, 1.00146484375, 2049.0, float("inf")]  # fmt: skip
    inputs = [x for value in values for x in (value, 0)]
    source = unit(f'REGISTER_USER_OP("x").Input("in").Output("out"){SAME};', kernel("x", HALF.replace("{type}", kind)))
    line = drive(builder.library(source), *call("x", *inputs), "run")[1]
    bits = [int(float(word)) for word in line.split()[5::2]]
    single = np.array(values, dtype=np.float32)
    if kind == "float16":
        with np.errstate(over="ignore"):
            wanted = single.astype(np.float16).view(np.uint16).tolist()
    else:
        raw = [struct.unpack("I", struct.pack("f", x))[0] for x in single]
        wanted = [(x + 0x7FFF + (x >> 16 & 1)) >> 16 for x in raw]
    assert bits == wanted
