"""What pyproject.toml cannot say: the core's sources travel in the wheel, and the core is built at install."""

import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
#: Compiled cores for the wheel, and the tag of the platform they run on: set by tools/wheels. Without them the wheel is
#: for every Python, and the core is built at first use.
CORES = os.environ.get("ONEOP_WHEEL_CORES", "")
PLATFORM = os.environ.get("ONEOP_WHEEL_PLATFORM", "")


class BuildPy(build_py):
    """Copies csrc/ to oneop/_csrc, and builds the core into the cache if torch is here."""

    def run(self) -> None:
        """Do what build_py does, then these two."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "oneop/_csrc"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(ROOT / "csrc", target)
        if CORES:
            shutil.copytree(CORES, Path(self.build_lib) / "oneop/_cores", dirs_exist_ok=True)
        elif not self.editable_mode:  # else `make setup` or the first use builds it, where its progress is seen
            build_core()


def build_core() -> None:
    """Build the core if torch is importable; a failure is a note, since first use builds it by the same code."""
    sys.path.insert(0, str(ROOT / "src"))
    try:
        from oneop._build.core import core_path

        print("oneop: the core is", core_path(), file=sys.stderr)
    except Exception as error:
        print(f"oneop: the core will be built at first use, since now: {error}", file=sys.stderr)
    finally:
        sys.path.remove(str(ROOT / "src"))


class Wheel(bdist_wheel):
    """A wheel with compiled cores is for one Python and one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags of the wheel's name."""
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        return (tag, tag, PLATFORM) if CORES else super().get_tag()


class WithCores(Distribution):
    """Files for a platform go to another folder of the environment than those for all."""

    def has_ext_modules(self) -> bool:
        """Tell whether anything in the wheel is compiled."""
        return bool(CORES)


setup(cmdclass={"build_py": BuildPy, "bdist_wheel": Wheel}, distclass=WithCores)
