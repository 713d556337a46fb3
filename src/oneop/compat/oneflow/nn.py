"""`oneflow.nn`: the modules of jobs."""

from .modules import Module as Module
