// units/hosts/onnx_host.cpp: a unit of the build of the ONNX Runtime host: a library of custom ops.
#include "onnx_host/custom_ops.cpp"
#include "onnx_host/infer_node.cpp"
#include "onnx_host/item.cpp"
#include "onnx_host/node_attrs.cpp"
#include "onnx_host/node_kernel.cpp"
#include "onnx_host/node_reader.cpp"
#include "onnx_host/ort.cpp"
#include "onnx_host/register.cpp"
