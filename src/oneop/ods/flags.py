"""The `has_*` flags of an op definition, and the function that each asks its author for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag. `setter` is the call of the registration chain that takes the function."""

    name: str
    function: str
    parameters: str
    setter: str
    result: str = "Maybe<void>"

    def declaration(self, cpp_class: str = "") -> str:
        """Return the function's declaration, as a member or as the author writes it."""
        scope = f"{cpp_class}::" if cpp_class else ""
        return f"{self.result} {scope}{self.function}({self.parameters})"


_INFER = "user_op::InferContext* ctx"
_CONF = "const user_op::UserOpConfWrapper& conf"

FLAGS = {
    flag.name: flag
    for flag in (
        Flag(
            name="has_check_fn",
            function="CheckAttr",
            parameters=f"const user_op::UserOpDefWrapper& def, {_CONF}",
            setter="SetCheckAttrFn",
        ),
        Flag(
            name="has_logical_tensor_desc_infer_fn",
            function="InferLogicalTensorDesc",
            parameters=_INFER,
            setter="SetLogicalTensorDescInferFn",
        ),
        Flag(
            name="has_physical_tensor_desc_infer_fn",
            function="InferPhysicalTensorDesc",
            parameters=_INFER,
            setter="SetPhysicalTensorDescInferFn",
        ),
        Flag(name="has_get_sbp_fn", function="GetSbp", parameters="user_op::SbpContext* ctx", setter="SetGetSbpFn"),
        Flag(
            name="has_sbp_signature_infer_fn",
            function="InferSbpSignature",
            parameters="user_op::InferSbpSignatureFnContext* ctx",
            setter="SetSbpSignatureInferFn",
        ),
        Flag(name="has_data_type_infer_fn", function="InferDataType", parameters=_INFER, setter="SetDataTypeInferFn"),
        Flag(
            name="has_device_and_stream_infer_fn",
            function="InferDeviceAndStream",
            parameters="user_op::DeviceAndStreamInferContext* ctx",
            setter="SetDeviceAndStreamInferFn",
            result="Maybe<Symbol<Stream>>",
        ),
        Flag(
            name="has_input_arg_modify_fn",
            function="ModifyInputArg",
            parameters=f"const user_op::GetInputArgModifier& get_modifier, {_CONF}",
            setter="SetInputArgModifyFn",
        ),
        Flag(
            name="has_output_arg_modify_fn",
            function="ModifyOutputArg",
            parameters=f"const user_op::GetOutputArgModifier& get_modifier, {_CONF}",
            setter="SetOutputArgModifyFn",
        ),
        Flag(
            name="has_output_blob_time_shape_infer_fn",
            function="InferOutputBlobTimeShape",
            parameters="user_op::InferOutputBlobTimeShapeFnContext* ctx",
            setter="SetOutputBlobTimeShapeInferFn",
        ),
        Flag(
            name="has_nd_sbp_infer_fn",
            function="InferNdSbp",
            parameters="user_op::InferNdSbpFnContext* ctx",
            setter="SetNdSbpInferFn",
        ),
        Flag(
            name="has_compute_complexity_fn",
            function="GetComputeComplexity",
            parameters="user_op::ComputeComplexityFnContext* ctx",
            setter="SetComputeComplexityFn",
            result="Maybe<double>",
        ),
        Flag(
            name="has_get_nd_sbp_fn",
            function="GetNdSbpSignatureList",
            parameters="user_op::GetNdSbpSignatureListContext* ctx",
            setter="SetGetNdSbpSignatureListFn",
        ),
        Flag(
            name="has_enumerate_nd_sbp_signatures_fn",
            function="EnumerateNdSbpSignatures",
            parameters="user_op::GetNdSbpSignatureListContext* ctx",
            setter="SetEnumerateNdSbpSignaturesFn",
        ),
        Flag(
            name="has_dump_nd_sbp_signature_for_op_conf_fn",
            function="DumpNdSbpSignatureForOpConfFn",
            parameters="const NdSbpSignature& signature, OperatorConf* conf",
            setter="SetDumpNdSbpSignatureForOpConfFn",
        ),
    )
}

#: Function -> flag.
FUNCTIONS = {flag.function: flag for flag in FLAGS.values()}
