"""How fast an op is: `oneop bench`, `oneop.benchmark.bench(op)`.

timing.py    the time of several functions, measured in turns
limits.py    what the machine can do at most: copying, multiplying
sweep.py     an op over sizes: calls, kernels, backward, reference
result.py    figures as data: table, JSON, two runs side by side
plot.py      figures as SVG
"""

from oneop.benchmark.result import BenchResult as BenchResult
from oneop.benchmark.result import compare as compare
from oneop.benchmark.sweep import bench as bench

__all__ = ["BenchResult", "bench", "compare"]
