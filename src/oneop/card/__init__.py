"""Op cards: one self-contained page that says everything about an op.

facts.py      what stands on the card: definition, kernels with their source lines, backward, checks, figures
backward.py   the graph of the gradient
page.py       the page
"""

from oneop.card.facts import collect as collect
from oneop.card.page import render as render
from oneop.card.page import render_index as render_index

__all__ = ["collect", "render", "render_index"]
