"""A differential fuzzer: random op definitions, random programs of them, run eagerly and by every other route.

    definitions.py  random ops: Python, C++ and functors; each with the same formula in plain torch
    programs.py     random programs of such ops and of torch's
    observe.py      what a run shows: values, gradients, changed inputs, shared memory, side effects
    routes.py       the other ways to run a program: compiled, exported, as a job, batched, ...
    campaign.py     many programs; the table of features and routes
    faults.py       faults that are planted in the runtime to see whether the fuzzer finds them

`python -m tests.fuzz --programs 500 --seed 7` runs more, `--matrix` prints the table, `--repeat SEED` one program.
"""
