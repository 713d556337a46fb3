"""Gradients.

inputs.py     calls that can be differentiated
numerical.py  numerical derivatives
first.py, second.py  the gradient and the gradient of the gradient
graph.py      the gradient in a planned job
variants.py, at_zero.py  gradients asked for in other ways, and at zero
kinds.py      the gradient for graphs against the one for eager mode
"""
