"""Op libraries in ONNX Runtime, and their ops in models that torch exports.

program = torch.onnx.export(model, args, dynamo=True, custom_translation_table=oneop.onnx.translation_table())
program.save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx", oneop.onnx.session_options(["libmyops.so"]))
"""

from oneop.onnx.session import custom_op_library as custom_op_library
from oneop.onnx.session import register as register
from oneop.onnx.session import session_options as session_options
from oneop.onnx.translation import translation_table as translation_table

__all__ = ["custom_op_library", "register", "session_options", "translation_table"]
