"""Every setting of oneop and every environment variable it reads, described once.

A setting takes its value from Python (`settings.verbose = True`), else from its environment variable, else from its
default; `settings.describe()` tells which. `oneop info` and the reference page of the settings are made from this file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from oneop.errors import nearest

__all__ = ["Setting", "SettingInfo", "Settings", "settings"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class SettingInfo:
    """What `oneop info` shows of one setting."""

    name: str
    env: str
    type: str
    value: object
    origin: str
    default: object
    doc: str


class Setting(Generic[T]):
    """One typed setting: a descriptor on `Settings` that reads the environment when asked, not at import."""

    def __init__(self, env: str, parse: Callable[[str], T], default: T, doc: str, *, type_name: str) -> None:
        """Describe the setting; `parse` turns the text of the variable into a value or raises `ValueError`."""
        self.env = env
        self.parse = parse
        self.default = default
        self.doc = doc
        self.type_name = type_name
        self.name = ""

    def __set_name__(self, owner: type[Settings], name: str) -> None:
        """Remember the attribute's name."""
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type[Settings]) -> Setting[T]: ...
    @overload
    def __get__(self, instance: Settings, owner: type[Settings]) -> T: ...
    def __get__(self, instance: Settings | None, owner: type[Settings]) -> Setting[T] | T:
        """Return the value in force. Raises `ValueError` if the environment variable cannot be read as one."""
        return self if instance is None else self.resolve(instance)[0]

    def __set__(self, instance: Settings, value: T) -> None:
        """Set the value from Python; it wins over the environment, and takes effect at once."""
        if self.parse is _path and value is not None:
            value = self.parse(os.fspath(value))  # type: ignore[call-overload]
        instance._assigned[self.name] = value
        instance._tell(self.name)

    def __delete__(self, instance: Settings) -> None:
        """Forget a value set from Python."""
        if self.name in instance._assigned:
            del instance._assigned[self.name]
            instance._tell(self.name)

    def resolve(self, instance: Settings) -> tuple[T, str]:
        """Return the value in force and where it comes from: "python", "environment" or "default"."""
        if self.name in instance._assigned:
            return instance._assigned[self.name], "python"
        text = os.environ.get(self.env, "")
        if not text:  # an empty variable counts as unset, as in make
            return self.default, "default"
        try:
            # Read once: a relative path starts at the working folder of that moment, and stays when the program moves.
            if (self.name, text) not in instance._parsed:
                instance._parsed[self.name, text] = self.parse(text)
            return instance._parsed[self.name, text], "environment"
        except ValueError:
            raise ValueError(f"environment variable {self.env}: expected {self.type_name}, found {text!r}") from None


def _flag(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off"):
        return False
    raise ValueError(text)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not number >= 0:
        raise ValueError(text)
    return number


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _text_setting(env: str, doc: str) -> Setting[str | None]:
    return Setting[str | None](env, str, None, doc, type_name="text")


def _path_setting(env: str, doc: str) -> Setting[Path | None]:
    return Setting[Path | None](env, _path, None, doc, type_name="a path")


class Settings:
    """The settings as attributes. There is one instance, `oneop.settings`; tests may make their own."""

    cache_dir = _path_setting(
        "ONEOP_CACHE_DIR", "Where built libraries and the core are kept. Default: the user cache."
    )
    lock_timeout = Setting[float](
        "ONEOP_LOCK_TIMEOUT", _seconds, 600.0, "Seconds to wait for another process's build.", type_name="a number >= 0"
    )
    cxxflags = Setting[str](
        "ONEOP_CXXFLAGS", str, "", "Flags for every C++ source, after oneop's and before `cflags`.", type_name="text"
    )
    nvccflags = Setting[str](
        "ONEOP_NVCCFLAGS", str, "", "The same for CUDA sources, before `cuda_cflags`.", type_name="text"
    )
    verbose = Setting[bool](
        "ONEOP_VERBOSE", _flag, False, "Print every compiler command and its output.", type_name="0 or 1"
    )
    cpu_fallback = Setting[bool](
        "ONEOP_CPU_FALLBACK", _flag, False, "Run ops without a GPU kernel on the CPU, with copies.", type_name="0 or 1"
    )
    sync_kernels = Setting[bool](
        "ONEOP_SYNC_KERNELS", _flag, False, "Wait for each GPU kernel and name it in errors.", type_name="0 or 1"
    )
    prebuilt = Setting[bool](
        "ONEOP_PREBUILT",
        _flag,
        True,
        "Use the compiled core that the wheel brings. 0: build it here.",
        type_name="0 or 1",
    )
    precompile = Setting[bool](
        "ONEOP_PRECOMPILE",
        _flag,
        True,
        "Keep the SDK's headers precompiled for g++, about 35 MB for each set of flags.",
        type_name="0 or 1",
    )
    csrc_dir = _path_setting("ONEOP_CSRC_DIR", "Sources of the core, for work on oneop itself.")

    cc = _text_setting("CC", "C compiler; its C++ sibling is used if CXX is not set.")
    cxx = _text_setting("CXX", "C++ compiler. Default: the first of g++, clang++ and c++ on PATH.")
    nvcc = _text_setting("NVCC", "CUDA compiler. Default: nvcc of CUDA_HOME or CUDA_PATH, else on PATH.")
    cuda_home = _path_setting("CUDA_HOME", "CUDA toolkit.")
    cuda_path = _path_setting("CUDA_PATH", "CUDA toolkit, if CUDA_HOME is not set.")
    max_jobs = Setting[int | None](
        "MAX_JOBS", _positive, None, "Compilers run at once. Default: one per core.", type_name="a whole number >= 1"
    )
    cuda_arch_list = _text_setting(
        "TORCH_CUDA_ARCH_LIST", 'GPU architectures, as in "8.0;9.0+PTX". Default: those of the GPUs present.'
    )
    no_color = Setting[bool]("NO_COLOR", lambda _: True, False, "No colour, if set to anything.", type_name="any text")

    def __init__(self) -> None:
        """Start with nothing set from Python."""
        self._assigned: dict[str, Any] = {}
        self._parsed: dict[tuple[str, str], Any] = {}
        self._listeners: list[Callable[[str], None]] = []

    def __setattr__(self, name: str, value: object) -> None:
        """Set one setting. Raises `AttributeError` for a name that is none, with the nearest that is."""
        if not name.startswith("_") and name not in _BY_NAME:
            raise AttributeError(_unknown(name))
        super().__setattr__(name, value)

    @contextmanager
    def override(self, **values: object) -> Iterator[None]:
        """Set some settings inside a `with` block. Raises `AttributeError` for an unknown name."""
        saved = dict(self._assigned)
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield
        finally:
            # Only what this block set: another thread may have set others meanwhile.
            for name in values:
                if name in saved:
                    setattr(self, name, saved[name])
                elif name in _BY_NAME:
                    delattr(self, name)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Have `listener(name)` called whenever a setting is set from Python, or such a value is forgotten.

        What acts on a setting without asking for it each time, as the core does, is kept up to date by this.
        """
        self._listeners.append(listener)

    def _tell(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)

    def describe(self) -> list[SettingInfo]:
        """Return every setting with its value and origin; an unreadable variable shows as its error text."""
        return [self._describe(setting) for setting in _BY_NAME.values()]

    def _describe(self, setting: Setting[Any]) -> SettingInfo:
        try:
            value, origin = setting.resolve(self)
        except ValueError as error:
            value, origin = str(error), "environment"
        return SettingInfo(
            name=setting.name,
            env=setting.env,
            type=setting.type_name,
            value=value,
            origin=origin,
            default=setting.default,
            doc=setting.doc,
        )


_BY_NAME: dict[str, Setting[Any]] = {k: v for k, v in vars(Settings).items() if isinstance(v, Setting)}


def _unknown(name: str) -> str:
    near = nearest(name, _BY_NAME)
    hint = f"; did you mean {near!r}?" if near else f"; there are: {', '.join(_BY_NAME)}"
    return f"no setting is called {name!r}{hint}"


settings = Settings()
