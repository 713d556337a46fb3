"""What pyproject.toml cannot say: the core's sources travel in the wheel, and the core is built at install."""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildPy(build_py):
    """Copies csrc/ to oneop/_csrc, and builds the core into the cache if torch is here."""

    def run(self) -> None:
        """Do what build_py does, then these two."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "oneop/_csrc"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(ROOT / "csrc", target)
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


setup(cmdclass={"build_py": BuildPy})
