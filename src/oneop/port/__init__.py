"""Porting from OneFlow: which files of a checkout, or of a folder of op sources, build, and what the others need.

checkout.py    the files to look at, in groups, and the headers that are made for them
scope.py       files that no SDK for ops serves, and why
precompiled.py the SDK's main header, compiled once for all of them
cuda.py        nvcc for CUDA sources
reading.py     from a compiler's output to the first thing that is missing
survey.py      compiling each file alone
objects.py     compiling files apart and linking those that fit together
trial.py       the ops of a checkout in one library, each checked against torch
check_ops.py   what runs these checks in a process of its own
references/    what OneFlow's ops compute, said with torch
project.py     a project of some sources
definitions.py the definitions of some ops, written down again
"""

from oneop.port.survey import FileReport as FileReport
from oneop.port.survey import Survey as Survey
from oneop.port.survey import survey as survey

__all__ = ["FileReport", "Survey", "survey"]
