"""Types of the C++ core. It is built into the cache, see `oneop.runtime.core`."""

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

import torch

abi_version: tuple[int, int]
F = TypeVar("F", bound=Callable[..., Any])

class SourceInfo(TypedDict):
    file: str
    line: int
    library: str

class ArgInfo(TypedDict):
    name: str
    count: int
    count_is_minimum: bool
    is_optional: bool
    is_mutable: bool
    has_gaps: bool
    requires_grad: bool
    dynamic_axes: int  # bit i: the size along axis i depends on data

class AttrInfo(TypedDict):
    name: str
    type: str
    is_optional: bool
    is_positional: bool
    has_default: bool
    default: str
    list_size: int

class KernelInfo(TypedDict):
    op: str
    source: SourceInfo
    priority: int
    predicate: str
    language: str
    cuda_graph: bool
    deterministic: bool | None
    batch_invariant: bool
    devices: list[str]
    dtypes: list[tuple[str, int, str]]
    others: list[str]

class OpInfo(TypedDict):
    name: str
    source: SourceInfo
    inputs: list[ArgInfo]
    outputs: list[ArgInfo]
    attrs: list[AttrInfo]
    no_grad: bool
    cpu_only: bool
    random: bool
    side_effect: bool
    non_contiguous: bool
    doc: str
    has_inference: bool
    has_sbp: bool
    has_flops: bool
    has_nd_sbp: bool
    has_physical_inference: bool
    kernels: list[KernelInfo]
    grad: SourceInfo | None
    eager_grad: SourceInfo | None
    forward: SourceInfo | None
    schema: str
    cached_plans: int

class LoadResult(TypedDict):
    ops: list[str]
    changed: list[str]
    missing: list[tuple[str, str, str]]

class Function:
    """A function of the functional API; see functional.cpp."""

    @property
    def signatures(self) -> tuple[str, ...]: ...
    @property
    def doc(self) -> str: ...
    @property
    def library(self) -> str: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Op:
    __name__: str
    overload: Any
    def __call__(self, *inputs: Any, **arguments: Any) -> Any: ...
    # oneop.authoring adds these.
    @typing.overload
    def register_kernel(self, device: F, /) -> F: ...
    @typing.overload
    def register_kernel(
        self,
        device: str | Sequence[str] | None = None,
        *,
        dtypes: torch.dtype | Iterable[torch.dtype] | Mapping[str, torch.dtype | Iterable[torch.dtype]] | None = None,
        priority: int = 0,
        when: Callable[..., Any] | None = None,
        language: str = "numpy",
    ) -> Callable[[F], F]: ...
    def register_source(
        self,
        device: str,
        text: str,
        *,
        dtypes: torch.dtype | Sequence[torch.dtype] = ...,
        priority: int = 0,
        header: str = "",
    ) -> None: ...
    def register_infer(self, function: F) -> F: ...
    def register_check(self, function: F) -> F: ...
    def register_sbp(self, *signatures: Any) -> Any: ...
    def register_grad(self, function: F | None = None, *, saves: Iterable[str] | None = None) -> Any: ...
    def register_jvp(self, function: F) -> F: ...
    def register_vmap(self, function: F) -> F: ...
    def flops(self, *inputs: Any, output_counts: Sequence[int] | None = None, **attrs: Any) -> int: ...

def load_library(path: str, library: str, package: str = "") -> LoadResult: ...
def resolve(name: str) -> str: ...
def register_python(description: Mapping[str, Any]) -> list[str]: ...
def kernel_attrs(name: str, values: dict[str, Any]) -> dict[str, Any]: ...
def set_schema_hook(hook: Callable[[list[str]], None]) -> None: ...
def set_trace_hook(hook: Callable[[str], None]) -> None: ...
def set_unstored_hook(hook: Callable[[str, str, str], None]) -> None: ...
def composition_of(name: str, inputs: Sequence[Sequence[torch.Tensor]]) -> Callable[..., Any] | None: ...
def op_names() -> list[str]: ...
def op_info(name: str) -> OpInfo: ...
def pending() -> list[str]: ...
def make_op(name: str, overload: object) -> Op: ...
def list_sbp(
    name: str,
    inputs: Sequence[Sequence[tuple[Sequence[int], torch.dtype]]],
    output_counts: Sequence[int],
    attrs: Mapping[str, object],
    parallel_num: int,
) -> tuple[list[list[tuple[int, int]]], list[str]]: ...
def nd_sbp(
    name: str,
    inputs: Sequence[Sequence[tuple[Sequence[int], torch.dtype]]],
    output_counts: Sequence[int],
    attrs: Mapping[str, object],
    hints: Sequence[tuple[int, int]],
    dims: int,
    parallel_num: int,
) -> list[tuple[int, int]]: ...
def infer_outputs(
    name: str,
    inputs: Sequence[Sequence[tuple[Sequence[int], torch.dtype]]],
    output_counts: Sequence[int],
    attrs: Mapping[str, object],
    sbp: Sequence[tuple[int, int]],
    dims: int,
    parallel_num: int,
    parallel_id: int,
    logical: Sequence[tuple[Sequence[int], torch.dtype]],
) -> list[tuple[list[int], torch.dtype]]: ...
def count_operations(
    name: str,
    inputs: Sequence[Sequence[tuple[Sequence[int], torch.dtype]]],
    output_counts: Sequence[int],
    attrs: Mapping[str, object],
) -> float: ...
def infer_batch_axes(
    name: str,
    inputs: Sequence[Sequence[tuple[Sequence[int], torch.dtype]]],
    output_counts: Sequence[int],
    attrs: Mapping[str, object],
    axes: Sequence[int],
) -> list[int]: ...
def watch_sharded_calls(function: Callable[[list[torch.Tensor], list[torch.Tensor]], None]) -> None: ...
def run_gradient(
    op: str,
    is_eager: bool,
    args: tuple[Any, ...],
    outputs: Sequence[torch.Tensor],
    output_grads: Sequence[torch.Tensor | None],
    needs: Sequence[bool],
) -> list[torch.Tensor | None]: ...
def set_traced_call(function: Callable[..., Any]) -> None: ...
def set_random_call(function: Callable[..., Any]) -> None: ...
def replay_function(
    function: Function, draws: list[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, int, Any, bool]: ...
def set_host_cache_limit(bytes: int) -> None: ...
def host_cache_held() -> int: ...
def empty_host_cache() -> None: ...
def snapshot() -> object: ...
def restore(snapshot: object) -> tuple[list[str], list[str]]: ...
def function_names() -> list[str]: ...
def make_function(name: str) -> Function: ...

class JobLock:
    """A lock of jobs; see job_lock.h."""

    def __init__(self, what: str, is_recursive: bool) -> None: ...
    def lock(self, is_exclusive: bool) -> None: ...
    def unlock(self) -> None: ...
    def is_held(self) -> bool: ...

class Bounds:
    """A block in which traced calls give the largest sizes that are possible; see bounds.h."""

    ops: set[str]  # those with sizes that depend on data, once the block has ended
    def __init__(self) -> None: ...
    def __enter__(self) -> Bounds: ...
    def __exit__(self, *error: object) -> None: ...
    @staticmethod
    def is_asked() -> bool: ...

class JobGate:
    """What every run of a job goes through; see job.h."""

    def __init__(self, job: str, variables: JobLock | None, changes: bool) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

class OpsSeen:
    """What ops were when a job was traced; see job_module.cpp."""

    def __init__(self) -> None: ...
    def keep(self, called: set[str]) -> None: ...
    def are_current(self) -> bool: ...
    @property
    def epoch(self) -> int: ...

def holds_job_lock() -> bool: ...
def registry_epoch() -> int: ...

class JobEntry:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class KernelRun:
    """One kernel of an op on the caller's buffers; see kernel_run.cpp."""

    def __init__(self, op: str, kernel: int, args: tuple[Any, ...]) -> None: ...
    tmp_bytes: int
    works_on_tensors: bool
    has_work: bool
    outputs: list[tuple[tuple[int, ...], torch.dtype]]
    overrun: list[tuple[int, int]]
    def run(self, outputs: Sequence[torch.Tensor], tmp: torch.Tensor | None) -> list[torch.Tensor]: ...
