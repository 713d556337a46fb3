"""Building an op library: `oneop.build` and what `oneop.load_inline` needs."""

from __future__ import annotations

import functools
import itertools
import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oneop import sysconfig
from oneop._build.cache import LONGEST_NAME
from oneop._build.compiler import Compiler, default_flags, known_cxx, split_words
from oneop._build.cuda import Toolkit, cuda_flags, known_toolkits
from oneop._build.generate import generate, keep_texts
from oneop._build.plan import Plan, Unit, find_result
from oneop._build.precompiled import header_of
from oneop.errors import BuildError, described
from oneop.settings import settings

CPP_SUFFIXES = (".cpp", ".cc", ".cxx")
CUDA_SUFFIXES = (".cu",)

#: Compile flags that the linker must see as well.
LINK_TOO = ("-fsanitize", "-fopenmp", "-flto", "-pthread", "--coverage", "-stdlib=")

#: Parts of the SDK whose functions are compiled apart (include/oneop/sdk/config.h): what a source includes of it, the
#: macro that says so, and the source with the functions.
SDK_PARTS = (
    (re.compile(r'#\s*include\s*["<](oneflow|oneop)/'), "ONEOP_SDK_APART", "oneop/sdk/sdk_functions.cpp"),
    (re.compile(r'#\s*include\s*["<]oneop/op\.h'), "ONEOP_OP_APART", "oneop/op/op_functions.cpp"),
)
#: Beside the library's flags. Each function has a section of its own: the linker drops those that nothing uses.
SDK_FLAGS = ("-O1", "-ffunction-sections", "-fdata-sections")
StrPath = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Library:
    """A built op library. `os.fspath(library)` and `str(library)` are the path of the shared object."""

    name: str
    path: Path
    log_path: Path
    build_seconds: float  # what the build took when it was made
    cached: bool
    sources: tuple[Path, ...]
    stubs: Path | None = None  # a folder with the package oneop-stubs, where definitions were given

    def __fspath__(self) -> str:
        """Return the path of the shared object."""
        return str(self.path)

    def __str__(self) -> str:
        """Return the path of the shared object."""
        return str(self.path)


# long: most of it is the list of arguments.
def build(
    name: str,
    sources: Sequence[StrPath] | StrPath = (),
    *,
    ods: Sequence[StrPath] | StrPath = (),
    functional: Sequence[StrPath] | StrPath = (),
    include_dirs: Sequence[StrPath] = (),
    cflags: Sequence[str] = (),
    cuda_cflags: Sequence[str] = (),
    ldflags: Sequence[str] = (),
    defines: Mapping[str, str | int | None] | None = None,
    portable: bool = False,
    verbose: bool | None = None,
    force: bool = False,
) -> Library:
    """Return the op library made from `sources`, from the cache if nothing it depends on has changed.

    Args:
        name: names the shared object and appears in messages.
        sources: C++ (.cpp, .cc, .cxx) and CUDA (.cu) files; relative paths start at the working directory.
        ods: op definitions (.td); they see `include_dirs` and the names in `defines` too.
        functional: descriptions of the functional API (.yaml).
        include_dirs: searched for headers, before the SDK's.
        cflags: flags for C++ sources; they come last and so may override the default ones.
        cuda_cflags: the same for CUDA sources.
        ldflags: flags for the linker.
        defines: macros; None as value defines a macro without one.
        portable: compile for any processor of this architecture, not just for the one at hand, and without paths of
            this machine: sources are recorded as `name/file.cpp`. For libraries that are shipped.
        verbose: print commands and what compilers say; by default as ONEOP_VERBOSE says.
        force: compile everything again.

    Raises:
        BuildError: a source or a compiler is missing, a compiler fails, or another process holds the build.
    """
    _check_name(name)
    for what, flags in (("cflags", cflags), ("cuda_cflags", cuda_cflags), ("ldflags", ldflags)):
        if isinstance(flags, str) or not all(isinstance(flag, str) for flag in flags):
            raise BuildError(f'library "{name}", {what}: expected a list of str, as in ["-O1"], found {flags!r}')
    folders = [_absolute(path) for path in include_dirs]
    generated = generate(name, _all_absolute(ods), _all_absolute(functional), folders, tuple(defines or {}))
    files = _check_sources(name, [*_all_absolute(sources), *generated.sources])
    toolkits = known_toolkits() if any(file.suffix in CUDA_SUFFIXES for file in files) else [None]
    common = (
        *_define_flags(defines or {}),
        *(f"-I{path}" for path in folders),
        *((f"-I{generated.folder}",) if generated.folder is not None else ()),
        f"-I{sysconfig.get_include()}",
    )
    inputs = [*files, *_all_absolute(ods), *_all_absolute(functional)]
    maps = _path_maps(name, inputs, folders, generated.folder) if portable else {}
    plans = []
    for cxx, toolkit in itertools.product(known_cxx(), toolkits):
        plan = _plan_library(name, files, cxx, toolkit, common, cflags, cuda_cflags, ldflags, maps)
        if generated.folder is not None:
            # Its name changes with every definition; what does not include the changed header is not compiled again.
            plan = replace(plan, roots={**plan.roots, "generated": generated.folder}, explain=generated.explain)
        plans.append(plan)
    built = None if force else next(filter(None, map(find_result, plans)), None)
    if built is None:
        from oneop._build.make import make_result  # not needed when the library is there
        from oneop._build.progress import Progress

        if toolkits[0] is not None:
            _warn_if_toolkit_differs(toolkits[0])
        shown = Progress(title=name, verbose=settings.verbose if verbose is None else verbose)
        built = make_result(plans[0], shown, force=force)
    return Library(
        name=name,
        path=built.path,
        log_path=built.log_path,
        build_seconds=built.seconds,
        cached=built.cached,
        sources=tuple(files),
        stubs=generated.folder / "stubs" if generated.folder is not None else None,
    )


def build_inline(
    name: str,
    cpp_sources: Sequence[str] | str = (),
    cuda_sources: Sequence[str] | str = (),
    *,
    include_dirs: Sequence[StrPath] = (),
    cflags: Sequence[str] = (),
    cuda_cflags: Sequence[str] = (),
    ldflags: Sequence[str] = (),
    defines: Mapping[str, str | int | None] | None = None,
    portable: bool = False,
    verbose: bool | None = None,
    force: bool = False,
) -> Library:
    """Return the op library made from source texts; they are kept as files in the cache. Otherwise as `build`."""
    _check_name(name)
    texts = {f"{name}_{i}.cpp": text for i, text in enumerate(_as_list(cpp_sources))}
    texts |= {f"{name}_{i}_cuda.cu": text for i, text in enumerate(_as_list(cuda_sources))}
    return build(
        name,
        keep_texts(name, texts),
        include_dirs=include_dirs,
        cflags=cflags,
        cuda_cflags=cuda_cflags,
        ldflags=ldflags,
        defines=defines,
        portable=portable,
        verbose=verbose,
        force=force,
    )


def _plan_library(
    name: str,
    files: Sequence[Path],
    cxx: Compiler,
    toolkit: Toolkit | None,
    common: tuple[str, ...],
    cflags: Sequence[str],
    cuda_cflags: Sequence[str],
    ldflags: Sequence[str],
    maps: Mapping[Path, str],
) -> Plan:
    """Return the plan of a library; `maps`, which a portable one has, are names for the folders of this machine.

    The cache has the objects of the SDK's functions for all libraries of the same flags. A portable library is
    complete in itself.
    """
    own_flags = split_words(settings.cxxflags, "ONEOP_CXXFLAGS")
    map_flags = [f"-ffile-prefix-map={folder}={shown}" for folder, shown in maps.items()]
    cpp_flags = (*default_flags(cxx, portable=bool(maps)), *map_flags, *common, *own_flags, *cflags)
    texts = {file: _text_of(file) for file in files if file.suffix in CPP_SUFFIXES}
    apart = cxx.family == "gcc" and sys.platform == "linux" and not maps
    parts = _parts_apart(texts.values()) if apart else []
    cpp_flags = (*(f"-D{macro}" for macro, _ in parts), *cpp_flags)
    shared_flags = (*_without_own_folders_and_macros(cpp_flags), f"-I{sysconfig.get_include()}")
    units = [
        Unit(
            source=file,
            compiler=cxx,
            flags=cpp_flags,
            header=header_of(text, cxx, cpp_flags, shared_flags) if apart and settings.precompile else None,
        )
        for file, text in texts.items()
    ]
    sdk_flags = (*shared_flags, *SDK_FLAGS)
    units += [Unit(source=source, compiler=cxx, flags=sdk_flags) for _, source in parts]
    link_flags = [flag for flag in cpp_flags if flag.startswith(LINK_TOO)]
    link_flags += ["-Wl,--gc-sections"] if parts else []
    if sys.platform == "linux":
        link_flags.append("-Wl,-z,defs")  # a missing definition is found now, not at load
        link_flags += ["-Xlinker", f"--version-script={sysconfig.get_include()}/oneop/exports.map"]
    link_flags += ldflags
    if toolkit is not None:
        nvcc_own = (*split_words(settings.nvccflags, "ONEOP_NVCCFLAGS"), *cuda_cflags)
        nvcc_maps = [f"-Xcompiler={flag}" for flag in map_flags]
        nvcc_flags = (*cuda_flags(toolkit, cxx, nvcc_own), *nvcc_maps, *common, *nvcc_own)
        nvcc = replace(toolkit.nvcc, identity=f"{toolkit.nvcc.identity}\nhost: {cxx.identity}")
        units += [Unit(source=file, compiler=nvcc, flags=nvcc_flags) for file in files if file.suffix in CUDA_SUFFIXES]
        link_flags += [f"-L{toolkit.lib}", f"-Wl,-rpath,{toolkit.lib}", toolkit.link_flag]
    return Plan(
        kind="library",
        name=name,
        file_name=f"{name}.so",
        units=tuple(units),
        linker=cxx,
        link_flags=tuple(link_flags),
        facts={"abi": abi_version()},
        roots={"sdk": Path(sysconfig.get_include())},
    )


def _text_of(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""  # the compiler says it better


def _parts_apart(texts: Iterable[str]) -> list[tuple[str, Path]]:
    """Return macro and source of the SDK's parts that these sources include.

    A source that includes a part by way of a header of its own has the part's functions compiled in itself.
    """
    folder = Path(sysconfig.get_include())
    return [(macro, folder / source) for line, macro, source in SDK_PARTS if any(line.search(text) for text in texts)]


def _without_own_folders_and_macros(flags: Sequence[str]) -> list[str]:
    """Return the flags of a library that matter for the SDK's own functions, so that most libraries share them.

    Macros whose names belong to oneop, the compiler or the C++ library stay, as do all that choose how code is made.
    """
    kept = []
    values = iter(flags)
    for flag in values:
        if flag in ("-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"):
            flag += next(values, "")
        dropped = flag.startswith(("-I", "-W", "-isystem", "-iquote", "-idirafter", "-include", "-imacros")) or (
            flag.startswith(("-D", "-U")) and not flag[2:].startswith(("ONEOP_", "_", "NDEBUG"))
        )
        if not dropped:
            kept.append(flag)
    return kept


def _path_maps(
    name: str, files: Sequence[Path], include_dirs: Sequence[Path], generated: Path | None
) -> dict[Path, str]:
    """Return by which names a shipped library knows the folders that it was built from. The last match counts."""
    maps = dict.fromkeys((file.parent for file in files), name)
    maps |= {folder: folder.name for folder in include_dirs if folder not in maps}
    maps |= {} if generated is None else {generated: f"{name}/generated"}
    return {**maps, Path(sysconfig.get_include()): "oneop/include"}


@functools.cache
def abi_version() -> str:
    """Return the version of the plugin ABI, as abi.h has it."""
    text = (Path(sysconfig.get_include()) / "oneop/abi.h").read_text()
    return ".".join(re.findall(r"^#define ONEOP_ABI_(?:MAJOR|MINOR) (\d+)", text, re.MULTILINE))


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
        raise BuildError(f"library {name!r}: a name is made of letters, digits, '_', '-' and '.'; it names a file")
    if len(name) > LONGEST_NAME:
        raise BuildError(f"library {name[:40]!r}...: a name has at most {LONGEST_NAME} characters; found {len(name)}")


def _check_sources(name: str, files: list[Path]) -> list[Path]:
    if not files:
        raise BuildError(
            f'library "{name}": it has no sources\n  expected at least one of {", ".join(CPP_SUFFIXES)}, .cu'
        )
    for file in files:
        if not file.is_file():
            raise BuildError(f'library "{name}": source {file} is not there')
        if file.suffix not in CPP_SUFFIXES + CUDA_SUFFIXES:
            raise BuildError(
                f'library "{name}": source {file} is neither C++ nor CUDA\n'
                f"  expected a name that ends in {', '.join(CPP_SUFFIXES)} or .cu"
            )
        if files.count(file) > 1:
            raise BuildError(f'library "{name}": source {file} is listed twice')
    return files


def _all_absolute(paths: Sequence[StrPath] | StrPath) -> list[Path]:
    listed: Any = [paths] if isinstance(paths, (str, os.PathLike)) or not isinstance(paths, Iterable) else [*paths]
    if not all(isinstance(path, (str, os.PathLike)) for path in listed):
        raise BuildError(f"expected a path or a list of paths, found {described(paths)}")
    return [_absolute(path) for path in listed]


def _absolute(path: StrPath) -> Path:
    return Path(os.path.normpath(Path(path).absolute()))  # symlinks stay: messages show the user's own path


def _define_flags(defines: Mapping[str, str | int | None]) -> list[str]:
    return [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in defines.items()]


def _as_list(texts: Sequence[str] | str) -> Sequence[str]:
    listed: Any = [texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else [*texts]
    if not all(isinstance(text, str) for text in listed):
        raise BuildError(f"expected a source text or a list of texts, found {described(texts)}")
    return listed  # type: ignore[no-any-return]


def _warn_if_toolkit_differs(toolkit: Toolkit) -> None:
    version = getattr(getattr(sys.modules.get("torch"), "version", None), "cuda", None)
    if isinstance(version, str) and version.split(".")[0] != toolkit.nvcc.version.split(".")[0]:
        warnings.warn(
            f"nvcc {toolkit.nvcc.version} differs from the CUDA {version} of torch; set CUDA_HOME to that version",
            stacklevel=3,
        )
