"""Files that an SDK for ops does not serve: what they do needs a part of OneFlow that has no counterpart here."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A reason, by the name of a file or by what it includes."""

    text: str
    name: str = r"(?!)"
    include: str = r"(?!)"


REASONS = (
    Reason(text="a unit test", name=r"_test\.(cpp|cu)$", include=r"gtest/"),
    Reason(
        text="reads or decodes data",
        name=r"/\w*(reader|decoder|decode|data_loader|onerec|ofrecord|coco)\w*\.(cpp|cu)$|/user/data/|/dataset_functor",
        include=r"oneflow/user/data/|oneflow/core/record/|oneflow/core/persistence/|/embedding/posix_file\.h",
    ),
    Reason(
        text="works on images with OpenCV",
        name=r"/image_\w+\.(cpp|cu)$|/user/image/",
        include=r"opencv2/|oneflow/user/image/",
    ),
    Reason(
        text="communicates between processes",
        name=r"nccl|/eager_(ccl|[bps]_to_[bps]|symmetric)|collective_communication|/p2p_comm|/communicate_util"
        r"|/comm_net_device|/(comm|slice_boxing|global_cast|consistent_cast)(_functor)?\.cpp$",
        include=r"nccl|/ccl/|oneflow/core/boxing/|collective_communication|transport_(util|token)\.h",
    ),
    Reason(
        text="belongs to one_embedding",
        name=r"/(one_embedding|data_shuffle|id_shuffle|unique_key_value)\w*\.(cpp|cu)$",
        include=r"oneflow/core/embedding/",
    ),
    Reason(text="schedules OneFlow's runtime (ticks, buffers between jobs)", name=r"_tick_op|/buffer_op|/nop_kernel"),
    Reason(text="writes summaries", name=r"/summary_|/user/summary/", include=r"oneflow/(core|user)/summary/"),
    Reason(
        text="is a part of OneFlow's own executor",
        name=r"/stateful_(local_)?opkernel|/kernels/stateful_",
        include=r"oneflow/core/eager/call_context\.h|eager_(local|mirrored)_op_interpreter\.h",
    ),
    Reason(
        text="is for cuDNN, cuBLAS or CUTLASS alone",
        name=r"/\w*(cudnn|cublas|cutlass)\w*\.(cpp|cu)$|/tf_pool_gpu|/pool_gpu_kernel",
        include=r"device/cudnn_conv_util\.h|cublasLt\.h|cutlass/",
    ),
)

_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
_ONLY_CUDA = re.compile(
    r"\A(?:\s|//[^\n]*\n|/\*.*?\*/|#include[^\n]*\n)*#if(?:def WITH_CUDA|[^\n]*WITH_CUDA[^\n]*)\n", re.DOTALL
)


def reason_to_leave_out(path: str, text: str) -> str | None:
    """Return why a file is out of scope, or None."""
    included = _INCLUDE.findall(text)
    for reason in REASONS:
        if re.search(reason.name, path) or any(re.search(reason.include, name) for name in included):
            return reason.text
    return None
