"""OneFlow's `flow.experimental`: op modules. `oneop.load_module(path)` is the short form."""

from oneop.authoring.modules import OpModule as OpModule
from oneop.authoring.modules import custom_op_module as custom_op_module
