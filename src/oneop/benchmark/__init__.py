"""How fast an op is: `oneop bench`, `oneop.benchmark.bench(op)`.

timing.py      the time of several functions, measured in turns
limits.py      what the machine can do at most: copying, multiplying
contenders.py  what is measured at one size: calls of the op, its reference and its kernels, each bound before
sweep.py       an op over sizes
result.py      figures as data: table, JSON, two runs side by side
verdict.py     figures in words
plot.py        figures as SVG
"""

from oneop.benchmark.result import BenchResult as BenchResult
from oneop.benchmark.result import compare as compare
from oneop.benchmark.sweep import bench as bench
from oneop.benchmark.verdict import verdict as verdict

__all__ = ["BenchResult", "bench", "compare", "verdict"]
