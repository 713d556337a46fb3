"""What an op takes, found by asking it.

probe.py             dtypes, numbers of tensors, shapes and attributes
templates.py         which shapes go together
attribute_values.py  values of attributes
accepted_values.py   ranges of input values that kernels take
source_values.py     strings and integers that an op's code compares them with
grouping.py, reference_calls.py  the arguments of the op and of its reference
"""
