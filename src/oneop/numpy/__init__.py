"""Op libraries on numpy arrays, in a process with torch or without.

import numpy as np
import oneop.numpy

library = oneop.numpy.load("libmyops.so")
y = library.myrelu(np.array([-1.0, 2.0]), alpha=0.2)
y, pullback = oneop.numpy.vjp(library.myrelu, x, alpha=0.2)
(dx,) = pullback(np.ones_like(y))
"""

from oneop.numpy.calls import NumpyLibrary as NumpyLibrary
from oneop.numpy.calls import load as load
from oneop.numpy.calls import seed as seed
from oneop.numpy.calls import set_num_threads as set_num_threads
from oneop.numpy.differentiation import vjp as vjp

__all__ = ["NumpyLibrary", "load", "seed", "set_num_threads", "vjp"]
