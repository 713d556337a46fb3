"""Layers: products of matrices, convolutions, pooling, padding, resampling, training."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from oneop.port.references.table import Table, differentiate

TABLE = Table()

TABLE.put(
    "bias_add",
    lambda a, b, axis: a + b.reshape([-1 if i == axis else 1 for i in range(a.ndim)]),
    attrs={"axis": [1]},
    shapes=[[(2, 3), (3,)], [(2, 4, 3), (4,)]],
)
PRODUCT = {"alpha": [1.0, 0.5], "transpose_a": [False], "transpose_b": [False]}
SWAPPED = {"alpha": [1.0], "transpose_a": [False], "transpose_b": [True]}


def _product(
    a: torch.Tensor,
    b: torch.Tensor,
    _add: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
) -> torch.Tensor:
    left = a.transpose(-1, -2) if transpose_a else a
    right = b.transpose(-1, -2) if transpose_b else b
    return alpha * torch.matmul(left, right)


TABLE.put("matmul", _product, attrs=PRODUCT, shapes=[[(2, 3), (3, 4)], [(1, 5), (5, 2)]])
TABLE.put("batch_matmul", _product, attrs=SWAPPED, shapes=[[(2, 2, 3), (2, 4, 3)], [(1, 3, 5), (1, 2, 5)]])
TABLE.put("broadcast_matmul", _product, attrs=PRODUCT, shapes=[[(2, 2, 3), (3, 4)], [(5, 1, 3), (3, 2)]])


@TABLE.of("broadcast_matmul_grad_b", attrs={"alpha": [1.0]}, shapes=[[(2, 3, 4), (2, 3, 5)]])
def matmul_grad_b(a: torch.Tensor, b: torch.Tensor, _add: Any) -> torch.Tensor:
    """The product of two stacks of rows, summed over the stack."""
    return a.flatten(0, -2).T @ b.flatten(0, -2)


# Convolutions. Attributes for one, two and three axes.
def _conv_attrs(axes: int) -> dict[str, list[Any]]:
    return {
        "filters": [4],
        "padding_before": [[0] * axes, [1] * axes],
        "data_format": ["channels_first"],
        "kernel_size": [[2] * axes],
        "strides": [[1] * axes, [2] * axes],
        "dilation_rate": [[1] * axes],
        "groups": [1],
    }


def _conv_shapes(axes: int, weight: tuple[int, int]) -> list[list[tuple[int, ...]]]:
    return [[(2, weight[1] if axes else 0, *[5, 4, 3][:axes]), (*weight, *[2] * axes)]]


def _conv(axes: int) -> Any:
    function = (F.conv1d, F.conv2d, F.conv3d)[axes - 1]

    def compute(
        x: Any, weight: Any, bias: Any, _ones: Any, padding_before: Any, strides: Any, groups: int
    ) -> torch.Tensor:
        return function(x, weight, bias, strides, padding_before, 1, groups)

    return compute


def _deconv(axes: int) -> Any:
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[axes - 1]

    def compute(x: Any, weight: Any, padding_before: Any, strides: Any, output_padding: Any) -> torch.Tensor:
        return function(x, weight, None, strides, padding_before, output_padding)

    return compute


for axes in (1, 2, 3):
    TABLE.put(f"conv{axes}d", _conv(axes), attrs=_conv_attrs(axes), shapes=_conv_shapes(axes, (4, 3)))
    deconv = [[(2, 3, *[5, 4, 3][:axes]), (3, 4, *[2] * axes)]]
    TABLE.put(
        f"deconv{axes}d", _deconv(axes), attrs={**_conv_attrs(axes), "output_padding": [[0] * axes]}, shapes=deconv
    )


@TABLE.of("conv_bias_grad", attrs={"data_format": ["channels_first"], "num_spatial_dims": [2]}, shapes=[[(2, 3, 4, 5)]])
def conv_bias_grad(dy: torch.Tensor) -> torch.Tensor:
    """Sums over all but the channels."""
    return dy.sum((0, 2, 3))


# Pooling.
def _pool_attrs(axes: int) -> dict[str, list[Any]]:
    return {
        "padding": [[0] * axes, [1] * axes],
        "data_format": ["channels_first"],
        "kernel_size": [[2] * axes],
        "stride": [[1] * axes, [2] * axes],
        "ceil_mode": [False],
    }


def _avg_pool(axes: int) -> Any:
    function = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[axes - 1]

    def compute(x: Any, padding: Any, kernel_size: Any, stride: Any, count_include_pad: bool) -> torch.Tensor:
        return function(x, kernel_size, stride, padding, False, count_include_pad)

    return compute


def _max_pool(axes: int) -> Any:
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[axes - 1]

    def compute(x: Any, padding: Any, kernel_size: Any, stride: Any) -> tuple[torch.Tensor, ...]:
        return tuple(function(x, kernel_size, stride, padding, return_indices=True))

    return compute


def _adaptive(axes: int) -> Any:
    function = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[axes - 1]

    def compute(x: Any, output_size: Any) -> torch.Tensor:
        return function(x, output_size)

    return compute


for axes in (1, 2, 3):
    image = (2, 3, *[6, 5, 4][:axes])
    average = {**_pool_attrs(axes), "count_include_pad": [True, False], "divisor_override": [0]}
    largest = {**_pool_attrs(axes), "dilation": [[1] * axes], "return_indices": [True]}
    TABLE.put(f"avg_pool_{axes}d", _avg_pool(axes), attrs=average, shapes=[[image]])
    TABLE.put(f"max_pool_{axes}d", _max_pool(axes), attrs=largest, shapes=[[image]])
    sizes = {"output_size": [[2] * axes, [3] * axes]}
    TABLE.put(f"adaptive_avg_pool{axes}d", _adaptive(axes), attrs=sizes, shapes=[[image]], dtypes="floating")


def _adaptive_grad(axes: int) -> Any:
    forward = _adaptive(axes)

    def compute(x: torch.Tensor, dy: torch.Tensor, output_size: Any) -> torch.Tensor:
        return differentiate(lambda x: forward(x, output_size), x, dy)

    return compute


for axes in (1, 2, 3):
    calls = [[(2, 3, *[6, 5, 4][:axes]), (2, 3, *[2] * axes)]]
    sizes = {"output_size": [[2] * axes]}
    TABLE.put(f"adaptive_avg_pool{axes}d_grad", _adaptive_grad(axes), attrs=sizes, shapes=calls, dtypes="floating")


# Padding.
PADDING = {"padding": [[1, 1, 1, 1], [1, 0, 2, 1]]}
for name, mode in {"reflection_pad2d": "reflect", "replication_pad2d": "replicate"}.items():
    TABLE.put(name, lambda x, padding, mode=mode: F.pad(x, padding, mode), attrs=PADDING, shapes=[[(2, 3, 4, 5)]])


@TABLE.of(
    "pad",
    attrs={
        "padding_before": [[0, 1]],
        "padding_after": [[0, 2]],
        "padding": [[1, 2]],
        "floating_constant_value": [0.5],
        "integral_constant_value": [3],
    },
    shapes=[[(2, 3)], [(4, 5)]],
)
def pad(x: torch.Tensor, floating_constant_value: float, integral_constant_value: int) -> torch.Tensor:
    """With a constant."""
    return F.pad(x, [1, 2], value=floating_constant_value if x.dtype.is_floating_point else integral_constant_value)


# Resampling.
def _resample(mode: str, scales: list[str]) -> Any:
    def compute(x: torch.Tensor, align_corners: bool = False, **factors: Any) -> torch.Tensor:
        factor = [factors[name] for name in scales]
        corners = {} if mode == "nearest" else {"align_corners": align_corners}
        return F.interpolate(x, scale_factor=factor, mode=mode, recompute_scale_factor=False, **corners)

    return compute


SCALES = {1: ["scale_factor"], 2: ["height_scale", "width_scale"], 3: ["depth_scale", "height_scale", "width_scale"]}
MODES = [
    ("nearest", 1),
    ("nearest", 2),
    ("nearest", 3),
    ("linear", 1),
    ("bilinear", 2),
    ("trilinear", 3),
    ("bicubic", 2),
]
for mode, axes in MODES:
    attrs: dict[str, list[Any]] = {name: [2.0] for name in SCALES[axes]}
    attrs |= {"output_size": [[]], "data_format": ["channels_first"]}
    attrs |= {} if mode == "nearest" else {"align_corners": [False, True]}
    shapes = [[(2, 3, *[4, 3, 2][:axes])]]
    TABLE.put(f"upsample_{mode}_{axes}d", _resample(mode, SCALES[axes]), attrs=attrs, shapes=shapes)


# Squares cut out of images, and put together again.
BLOCKS = {
    "data_format": ["channels_first"],
    "kernel_size": [[2, 2]],
    "strides": [[1, 1], [2, 2]],
    "padding": [[0, 0], [1, 1]],
    "dilation_rate": [[1, 1]],
}


@TABLE.of("unfold", attrs=BLOCKS, shapes=[[(2, 3, 4, 6)]])
def unfold(x: torch.Tensor, kernel_size: Any, strides: Any, padding: Any) -> torch.Tensor:
    """Columns of squares."""
    return F.unfold(x, kernel_size, 1, padding, strides)


@TABLE.of(
    "fold", attrs={**BLOCKS, "output_size": [[3, 4]], "strides": [[1, 1]], "padding": [[0, 0]]}, shapes=[[(2, 8, 6)]]
)
def fold(x: torch.Tensor, output_size: Any, kernel_size: Any, strides: Any, padding: Any) -> torch.Tensor:
    """Sums of squares."""
    return F.fold(x, output_size, kernel_size, 1, padding, strides)


@TABLE.of("affine_grid", attrs={"size": [(2, 3, 4, 5)], "align_corners": [False, True]}, shapes=[[(2, 2, 3)]])
def affine_grid(theta: torch.Tensor, size: Any, align_corners: bool) -> torch.Tensor:
    """Where each pixel comes from."""
    return F.affine_grid(theta, list(size), align_corners)


@TABLE.of(
    "grid_sample",
    attrs={
        "interpolation_mode": ["bilinear", "nearest"],
        "padding_mode": ["zeros", "border", "reflection"],
        "align_corners": [False, True],
    },
    shapes=[[(2, 3, 4, 5), (2, 2, 3, 2)]],
    values={"grid": (-0.9, 0.9)},
)
def grid_sample(
    x: torch.Tensor, grid: torch.Tensor, interpolation_mode: str, padding_mode: str, align_corners: bool
) -> torch.Tensor:
    """Pixels between pixels."""
    return F.grid_sample(x, grid, interpolation_mode, padding_mode, align_corners)


# Training.
@TABLE.of("l1_l2_regularize_gradient", attrs={"l1": [0.5], "l2": [0.25]}, shapes=[[(2, 3)] * 2])
def regularize(model: torch.Tensor, diff: torch.Tensor, l1: float, l2: float) -> torch.Tensor:
    """The gradient with those of two penalties."""
    return diff + l1 * torch.where(model >= 0, 1.0, -1.0).to(model.dtype) + l2 * model
