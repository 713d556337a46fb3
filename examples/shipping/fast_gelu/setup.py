"""What pyproject.toml cannot say: the sources are compiled when a wheel is built."""

from setuptools import setup

from oneop.packaging import build_ops

setup(cmdclass=build_ops("fast_gelu"))
