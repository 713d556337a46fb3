"""The public names that need torch. `oneop/__init__.py` takes them from here when the first one is used."""

from torch import Tensor as Tensor
from torch import bfloat16 as bfloat16
from torch import bool as bool
from torch import dtype as dtype
from torch import float16 as float16
from torch import float32 as float32
from torch import float64 as float64
from torch import int8 as int8
from torch import int16 as int16
from torch import int32 as int32
from torch import int64 as int64
from torch import uint8 as uint8

from oneop import _C as _C
from oneop import config as config
from oneop import experimental as experimental
from oneop import ops as ops
from oneop import registry as registry
from oneop import sbp as sbp
from oneop import typing as typing
from oneop import util as util
from oneop._build.library import Library as Library
from oneop._build.library import build as build
from oneop.authoring.define import define as define
from oneop.authoring.modules import load_module as load_module
from oneop.authoring.spec import TensorSpec as TensorSpec
from oneop.memory import empty_cache as empty_cache
from oneop.memory import set_cache_limit as set_cache_limit
from oneop.registry import get_op as get_op
from oneop.registry import list_ops as list_ops
from oneop.registry import list_pending as list_pending
from oneop.registry import show as show
from oneop.runtime.loader import LoadedLibrary as LoadedLibrary
from oneop.runtime.loader import load as load
from oneop.runtime.loader import load_inline as load_inline
from oneop.runtime.usable import usable_sources as usable_sources
from oneop.sharding import watch as _watch
from oneop.signatures import sbp_signatures as sbp_signatures
from oneop.user_op import user_op_builder as user_op_builder

_watch.install()

double = float64
float = float32
char = int8
