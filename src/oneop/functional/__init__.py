"""The functional API: functions described in yaml, which are `oneop._C.<name>` and in C++ `functional::Name`.

`read_yaml` gives the entries of a file as data, without building anything.
"""

from oneop.functional.description import Function as Function
from oneop.functional.description import read_yaml as read_yaml
from oneop.functional.signature import Parameter as Parameter
from oneop.functional.signature import Signature as Signature

__all__ = ["Function", "Parameter", "Signature", "read_yaml"]
