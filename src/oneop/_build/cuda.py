"""Finding nvcc and its toolkit, and the architectures to compile for."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oneop._build.cache import cache_root, digest, note_json, read_json
from oneop._build.compiler import Compiler, default_flags, identify, remembered, split_words, version_tuple
from oneop.errors import BuildError
from oneop.settings import settings

OLDEST_NVCC = (11, 0)  # the first with C++17

#: For a machine without a GPU: what most GPUs in use run at once, and PTX for the later ones.
DEFAULT_ARCHES = ("7.5", "8.0", "9.0+PTX")

#: Names that TORCH_CUDA_ARCH_LIST may hold besides numbers.
NAMED_ARCHES = {
    "Volta": "7.0+PTX",
    "Turing": "7.5+PTX",
    "Ampere": "8.0;8.6+PTX",
    "Ada": "8.9+PTX",
    "Hopper": "9.0+PTX",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
}


@dataclass(frozen=True, kw_only=True)
class Toolkit:
    """A CUDA toolkit: its compiler, the folder of libcudart, the flag that links it, and the architectures it knows."""

    nvcc: Compiler
    lib: Path
    link_flag: str
    arches: tuple[str, ...]  # "75", "90", ...


def known_toolkits() -> list[Toolkit]:
    """Return the CUDA toolkit, or where there is none those whose results may be in the cache.

    Raises `BuildError` as `find_toolkit` if neither is there.
    """
    try:
        return [find_toolkit()]
    except BuildError as error:
        known = [
            toolkit
            for nvcc in remembered(str(error))
            if nvcc.family == "nvcc" and (toolkit := _remembered_toolkit(nvcc)) is not None
        ]
        if not known or settings.nvcc or settings.cuda_home or settings.cuda_path:
            raise
        return known


def _remembered_toolkit(nvcc: Compiler) -> Toolkit | None:
    note = read_json(_toolkit_note(nvcc))
    lib, flag, arches = note.get("lib"), note.get("link_flag"), note.get("arches")
    if not isinstance(lib, str) or not isinstance(flag, str) or not isinstance(arches, list):
        return None
    return Toolkit(nvcc=nvcc, lib=Path(lib), link_flag=flag, arches=tuple(map(str, arches)))


def find_toolkit() -> Toolkit:
    """Return the CUDA toolkit. Raises `BuildError` if there is none, or if it is too old."""
    command, origin = _choose_nvcc()
    nvcc = identify(command, origin)
    if nvcc.family != "nvcc":
        raise BuildError(f"{origin}: expected nvcc, found {nvcc.said}\n  set NVCC to nvcc, or CUDA_HOME to its toolkit")
    if version_tuple(nvcc.version) < OLDEST_NVCC:
        raise BuildError(
            f"{origin}: nvcc {nvcc.version} is too old, 11.0 or newer is needed\n  set CUDA_HOME to a newer toolkit"
        )
    home, arches = _ask_toolkit(nvcc)
    lib, flag = _find_cudart(settings.cuda_home or settings.cuda_path or home)
    if read_json(_toolkit_note(nvcc)).get("lib") != str(lib):
        note_json(_toolkit_note(nvcc), {"home": str(home or ""), "arches": arches, "lib": str(lib), "link_flag": flag})
    return Toolkit(nvcc=nvcc, lib=lib, link_flag=flag, arches=arches)


def cuda_flags(toolkit: Toolkit, host: Compiler, flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags every CUDA source gets first; no architecture if the `given` flags name one."""
    passed = [flag for flag in default_flags(host) if flag not in ("-std=c++17", "-O3", "-fdiagnostics-color=never")]
    # Only if the user chose a compiler: nvcc has its own default, which is known to fit.
    chosen = ("-ccbin", host.command[-1]) if settings.cxx or settings.cc else ()
    arch = () if any("arch" in flag or "gencode" in flag for flag in flags) else arch_flags(toolkit)
    return (
        "-std=c++17",
        "-O3",
        "--expt-relaxed-constexpr",
        "--extended-lambda",
        *chosen,
        "-Xcompiler",
        ",".join(passed),
        *arch,
    )


def arch_flags(toolkit: Toolkit) -> tuple[str, ...]:
    """Return -gencode flags: for TORCH_CUDA_ARCH_LIST, else for the GPUs present, else for common ones.

    Raises `BuildError` if the list has an entry that is no architecture.
    """
    text = settings.cuda_arch_list
    if text and text != "native":
        return _flags_for(_parse_arch_list(text))
    present = [arch for arch in sorted(set(_present_arches()), key=version_tuple)]
    wanted = [*present[:-1], f"{present[-1]}+PTX"] if present else list(DEFAULT_ARCHES)
    return _flags_for(_clamp(wanted, toolkit.arches))


def _choose_nvcc() -> tuple[list[str], str]:
    if settings.nvcc:
        return split_words(settings.nvcc, "NVCC"), f"NVCC={settings.nvcc}"
    for variable, home in (("CUDA_HOME", settings.cuda_home), ("CUDA_PATH", settings.cuda_path)):
        if home is not None:
            return [str(home / "bin/nvcc")], f"{variable}={home}"
    if shutil.which("nvcc"):
        return ["nvcc"], "nvcc"
    default = Path("/usr/local/cuda/bin/nvcc")
    if default.is_file():
        return [str(default)], str(default)
    raise BuildError(
        "no CUDA compiler: nvcc is not on PATH, and neither NVCC nor CUDA_HOME is set\n"
        "  install the CUDA toolkit, or set CUDA_HOME to it, or leave out the .cu sources"
    )


def _ask_toolkit(nvcc: Compiler) -> tuple[Path | None, tuple[str, ...]]:
    """Return the toolkit's folder and the architectures it knows; asked once for each nvcc."""
    note = _toolkit_note(nvcc)
    known = read_json(note)
    if not known:
        dry = _output_of([*nvcc.command, "--dryrun", "-x", "cu", "-c", os.devnull])
        top = re.search(r"^#\$ TOP=(.*)$", dry, re.MULTILINE)
        listed = re.findall(r"compute_(\d+)", _output_of([*nvcc.command, "--list-gpu-arch"]))
        known = {"home": str(Path(top[1].strip()).resolve()) if top else "", "arches": listed}
        note_json(note, known)
    home, arches = known.get("home"), known.get("arches")
    return Path(str(home)) if home else None, tuple(map(str, arches)) if isinstance(arches, list) else ()


def _toolkit_note(nvcc: Compiler) -> Path:
    return cache_root() / "compiler" / f"toolkit-{digest([nvcc.command, nvcc.identity])}.json"


def _find_cudart(home: Path | None) -> tuple[Path, str]:
    folders = [home / name for name in ("lib64", f"targets/{os.uname().machine}-linux/lib", "lib")] if home else []
    for folder in folders:
        if (folder / "libcudart.so").exists():
            return folder, "-lcudart"
        versioned = sorted(folder.glob("libcudart.so.*"))
        if versioned:
            return folder, f"-l:{versioned[0].name}"
    raise BuildError(f"libcudart.so is not in the CUDA toolkit {home}\n  set CUDA_HOME to a complete toolkit")


def _parse_arch_list(text: str) -> list[str]:
    arches: list[str] = []
    for word in re.split(r"[;,\s]+", text.strip()):
        for arch in NAMED_ARCHES.get(word, word).split(";"):
            if not re.fullmatch(r"\d+\.\d[af]?(\+PTX)?", arch):
                raise BuildError(
                    f"TORCH_CUDA_ARCH_LIST={text}: {arch!r} is no architecture\n"
                    f'  expected numbers such as "8.0;9.0+PTX", or names: {", ".join(NAMED_ARCHES)}'
                )
            arches.append(arch)
    return arches


def _flags_for(arches: Sequence[str]) -> tuple[str, ...]:
    flags = []
    for arch in arches:
        number, _, ptx = arch.replace(".", "").partition("+")
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if ptx:
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return tuple(dict.fromkeys(flags))


def _clamp(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return what this nvcc can do of `wanted`; for a GPU newer than nvcc, PTX of the newest architecture it knows."""
    if not known:
        return list(wanted)
    able = [arch for arch in wanted if arch.replace(".", "").removesuffix("+PTX") in known]
    if able and able[-1] == wanted[-1]:
        return able
    newest = max(known, key=int)
    return [*able, f"{newest[:-1]}.{newest[-1]}+PTX"]


def _present_arches() -> list[str]:
    """Return the compute capabilities of the GPUs in this machine; nvidia-smi is asked once after each boot."""
    nodes = sorted(str(path) for path in Path("/dev").glob("nvidia[0-9]*")) or [
        str(p) for p in [Path("/dev/dxg")] if p.exists()
    ]
    if not nodes:
        return []
    boot = Path("/proc/sys/kernel/random/boot_id")
    note = (
        cache_root()
        / "compiler"
        / f"{digest([socket.gethostname(), nodes, boot.read_text() if boot.exists() else ''])}-gpus.json"
    )
    known = read_json(note).get("arches")
    if not isinstance(known, list):
        if shutil.which("nvidia-smi") is None:
            return []
        known = re.findall(
            r"^\d+\.\d+$", _output_of(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]), re.M
        )
        note_json(note, {"arches": known})
    return [str(arch) for arch in known]


def _output_of(command: Sequence[str]) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout + result.stderr
