"""`oneflow.deprecated`, the name that 0.4 has for `oneflow.nn`."""

from . import nn as nn
