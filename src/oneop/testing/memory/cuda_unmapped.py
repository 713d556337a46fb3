"""CUDA memory that ends, or begins, where the address space of the device does: an access beside it is a fault.

Memory is reserved, created and mapped by the driver's own calls (cuMemAddressReserve and its kin), because an allocator
hands out pieces of larger blocks, in which an access beside a piece goes unseen.
"""

from __future__ import annotations

import ctypes
import functools

import torch

_DEVICE_LOCATION, _PINNED_MEMORY, _READ_WRITE = 1, 1, 3


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("requested_handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32_handle_metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class _Bytes:
    """Device memory, as torch reads it."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }


def make_cuda_flush(size: int, *, at_end: bool) -> torch.Tensor:
    """Return `size` bytes on the current device, flush against memory that is not mapped. They are never freed."""
    if size == 0:
        return torch.empty(0, dtype=torch.uint8, device="cuda")
    driver, device = _driver(), torch.cuda.current_device()
    torch.cuda.current_stream()  # there is a context now
    properties = _Properties(type=_PINNED_MEMORY, location=_Location(_DEVICE_LOCATION, device))
    step = ctypes.c_size_t()
    _call(driver.cuMemGetAllocationGranularity, ctypes.byref(step), ctypes.byref(properties), 0)
    mapped = -(-size // step.value) * step.value
    start, handle = ctypes.c_uint64(), ctypes.c_uint64()
    _call(driver.cuMemAddressReserve, ctypes.byref(start), mapped + 2 * step.value, 0, 0, 0)
    _call(driver.cuMemCreate, ctypes.byref(handle), mapped, ctypes.byref(properties), 0)
    inside = start.value + step.value
    _call(driver.cuMemMap, inside, mapped, 0, handle.value, 0)
    access = _Access(properties.location, _READ_WRITE)
    _call(driver.cuMemSetAccess, inside, mapped, ctypes.byref(access), 1)
    return torch.as_tensor(_Bytes(inside + mapped - size if at_end else inside, size), device="cuda")


@functools.cache
def _driver() -> ctypes.CDLL:
    driver = ctypes.CDLL("libcuda.so.1")
    size, address, number = ctypes.c_size_t, ctypes.c_uint64, ctypes.c_ulonglong
    driver.cuMemAddressReserve.argtypes = [ctypes.c_void_p, size, size, address, number]
    driver.cuMemCreate.argtypes = [ctypes.c_void_p, size, ctypes.c_void_p, number]
    driver.cuMemMap.argtypes = [address, size, size, number, number]
    driver.cuMemSetAccess.argtypes = [address, size, ctypes.c_void_p, size]
    driver.cuMemGetAllocationGranularity.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    return driver


def _call(function: object, *arguments: object) -> None:
    status = function(*arguments)  # type: ignore[operator]
    if status != 0:
        raise MemoryError(f"{getattr(function, '__name__', '')}: {status}")
