"""Runs of a reference in which each step is off by roundings, as in another order of the same formula.

Of exact inputs they tell results that hang on roundings from those that do not. A sum of quarters, or the comparison
of a number with an attribute, is the same however it is computed; a quotient is not, as a kernel may multiply by the
reciprocal. They also tell what torch leaves open: which of equal numbers `topk` takes, and what integer a number
becomes that its type does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

#: Their results are elements of their inputs, or exact whatever the inputs are.
_EXACT = frozenset(
    "abs neg positive sign sgn round floor ceil trunc fix fmod remainder floor_divide relu relu6 hardtanh clamp "
    "clamp_min clamp_max maximum minimum fmax fmin max min amax amin aminmax where masked_fill clone copy "
    "_to_copy lift_fresh lift_fresh_copy detach cat stack index index_select gather take scatter index_put "
    "index_fill index_copy masked_scatter masked_select sort topk kthvalue median nanmedian mode cummax cummin "
    "flip roll repeat pad constant_pad_nd tril triu nan_to_num threshold heaviside copysign zeros ones full "
    "empty zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty fill zero arange "
    "scalar_tensor select_scatter slice_scatter diagonal_scatter one_hot unique max_pool2d_with_indices "
    "reflection_pad1d replication_pad1d repeat_interleave frac logical_not _local_scalar_dense unfold bucketize "
    "searchsorted hardshrink nextafter frexp signbit empty_strided split_with_sizes_copy".split()
)
#: Exact where the result is a number of the dtype: so it is in every order.
_ARITHMETIC = frozenset(
    "add sub rsub mul square sum mm bmm addmm baddbmm dot mv cumsum prod cumprod leaky_relu prelu".split()
)
#: Whose terms may be far larger than the result.
_SUMS = frozenset("sum mm bmm dot mv cumsum mean".split())
#: By so much are equal numbers made different, in units of their size.
CHOICE = 1e-12
#: Torch does not say which of equal numbers they take.
_CHOOSING = frozenset("topk sort kthvalue median nanmedian mode argsort".split())


class Roundings(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Meanwhile the results of torch's ops are off by roundings of a dtype; others for another number, none for 0.

    With `choices_only` torch takes the first or the last of equal numbers where it does not say which, and nothing else
    is off.
    """

    def __init__(self, dtype: torch.dtype, number: int, *, choices_only: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.number, self.choices_only = dtype, number, choices_only
        self.chooses = False  # whether torch took one of equal numbers
        self.chooses_infinities = False  # which cannot be made different
        self.overflows = False  # whether a number became an integer that does not hold it
        self._generator = torch.Generator().manual_seed(number)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call the op, and nudge its floating results that are not exact."""
        options = dict(kwargs or {})
        name = func._schema.name.rpartition("::")[2].rstrip("_")
        if name in _CHOOSING and options.get("stable") is not True and _has_equals(func, args, options):
            self.chooses = True
            self.chooses_infinities |= not bool(args[0].isfinite().all())
            if self.choices_only and args[0].is_floating_point():
                count = args[0].numel()
                ramp = torch.arange(1, count + 1, dtype=torch.float64) / count  # so the last ones win, then the first
                noise = (ramp if self.number == 1 else -ramp).view(args[0].shape).to(args[0])
                args = (args[0] + CHOICE * (args[0].abs() + 1) * noise, *args[1:])
        self.overflows |= name == "_to_copy" and not _fits(args[0], options.get("dtype"))
        if self.number == 0 or self.choices_only or name in _EXACT or func.is_view:
            return func(*args, **options)
        is_mutable = func._schema.is_mutable
        terms = func(*_sizes(args), **options) if name in _SUMS and not is_mutable else None
        results = func(*args, **options)
        if isinstance(results, torch.Tensor):
            return self._nudged(results, terms, name, args, is_mutable=is_mutable)
        if isinstance(results, (tuple, list)):
            nudged = [
                self._nudged(result, None, name, args, is_mutable=is_mutable)
                if isinstance(result, torch.Tensor)
                else result
                for result in results
            ]
            return tuple(nudged) if isinstance(results, tuple) else nudged
        return results

    def _nudged(
        self, result: torch.Tensor, terms: Any, name: str, args: Sequence[Any], *, is_mutable: bool
    ) -> torch.Tensor:
        if not result.is_floating_point() or not result.numel():
            return result
        size = terms.abs() if isinstance(terms, torch.Tensor) else result.abs()
        steps = torch.randint(-3, 4, result.shape, generator=self._generator, dtype=torch.int8).to(result)
        by = steps * size * torch.finfo(self.dtype).eps
        if name in _ARITHMETIC:
            by = torch.where(result.to(self.dtype).to(result.dtype) == result, 0.0, by)
        elif name in ("div", "reciprocal") and "rounding_mode" not in str(args):
            divisor = args[1] if len(args) > 1 else args[0]
            mantissa = torch.frexp(torch.as_tensor(divisor, dtype=torch.float64)).mantissa
            by = torch.where(mantissa.abs() == 0.5, 0.0, by)
        by = by.nan_to_num(0.0, 0.0, 0.0).to(result.dtype)
        return result.add_(by) if is_mutable else result + by


def _sizes(args: Sequence[Any]) -> Any:
    """Return the arguments with the sizes of floating tensors in their place."""
    return tree_map_only(
        torch.Tensor, lambda tensor: tensor.abs() if tensor.is_floating_point() else tensor, list(args)
    )


def _has_equals(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Tell whether a number occurs twice in a row that is chosen from; without rows only values are taken."""
    names = [argument.name for argument in func._schema.arguments]
    if "dim" not in names or not isinstance(args[0], torch.Tensor) or args[0].ndim == 0:
        return False
    place = names.index("dim")
    dim = kwargs.get("dim", args[place] if place < len(args) else -1)
    ordered = torch.sort(args[0], dim=dim, stable=True).values.movedim(dim, -1)
    left, right = ordered[..., 1:], ordered[..., :-1]
    return bool(((left == right) | (left.isnan() & right.isnan())).any())


def _fits(tensor: Any, dtype: torch.dtype | None) -> bool:
    """Tell whether all numbers of a floating tensor become integers that a dtype holds."""
    if dtype is None or dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        return True
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
        return True
    limits = torch.iinfo(dtype)
    return bool(((tensor > limits.min - 1.0) & (tensor < limits.max + 1.0)).all())
