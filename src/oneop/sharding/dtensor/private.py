"""What of DTensor is not public, and used in this folder. Where a torch has it elsewhere, sharding is switched off."""

from __future__ import annotations

from oneop.errors import ShardingError
from oneop.sharding import switched_off

try:
    from torch.distributed.tensor._collective_utils import redistribute_cost
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    from torch.distributed.tensor._op_schema import (
        OpSchema,
        OpSpec,
        OpStrategy,
        RuntimeSchemaInfo,
        TupleStrategy,
    )
    from torch.distributed.tensor._redistribute import redistribute_local_tensor
    from torch.distributed.tensor._utils import ExplicitRedistributionContext
except ImportError as error:  # a torch that has these parts elsewhere
    switched_off.switch_off(str(error))
    raise ShardingError(switched_off.text()) from error

try:  # the one that DTensor uses
    from torch.utils import _cxx_pytree as pytree
except ImportError:
    from torch.utils import _pytree as pytree  # type: ignore[no-redef]

__all__ = [
    "DTensorSpec",
    "ExplicitRedistributionContext",
    "OpSchema",
    "OpSpec",
    "OpStrategy",
    "RuntimeSchemaInfo",
    "TensorMeta",
    "TupleStrategy",
    "pytree",
    "redistribute_cost",
    "redistribute_local_tensor",
]
