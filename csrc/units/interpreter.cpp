// units/interpreter.cpp: a unit of the builds of all hosts in Python: objects and exceptions of
// Python, no torch.
#include "interpreter/attr_values.cpp"
#include "interpreter/objects.cpp"
#include "interpreter/python_error.cpp"
#include "interpreter/python_ref.cpp"
