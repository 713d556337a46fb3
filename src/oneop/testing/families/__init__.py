"""What is verified. A family looks at one side of an op; `checker.py` has their list.

inference.py   inference against results: fake tensors, repeated answers
memory.py      red zones
agreement.py   kernels against each other, against the reference, on special values
repetition.py  determinism, threads
layouts.py     strides, and sizes that are zero, odd or large
gradients/     first and second order, eager and graph, asked for in other ways
transforms.py  jvp, vmap
programs.py    opcheck, compile, export, jobs
placement.py   CPU against GPU, SBP signatures
hosts.py       other hosts against torch
"""
