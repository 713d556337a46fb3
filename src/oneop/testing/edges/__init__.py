"""Values at which ops decide, and what results must be there.

numbers.py    ties, thresholds, rows far from zero, masks that hide whole rows
calls.py      calls with such inputs
jumps.py      bounds that leave no choice where the reference jumps
roundings.py  which of these hang on roundings, or on what torch leaves open
"""
