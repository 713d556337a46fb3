#ifdef ORACLE
include "prelude.td"
#endif
def OneFlow_LeakyReluYZHOp : OneFlow_BaseOp<"leaky_relu_yzh", [NoSideEffect, DeclareOpInterfaceMethods<UserOpCompatibleInterface>]> {
  let input = (ins OneFlow_Tensor:$x);
  let output = (outs OneFlow_Tensor:$y);
  let attrs = (ins F32Attr:$alpha);
  let has_logical_tensor_desc_infer_fn = 1;
  let has_physical_tensor_desc_infer_fn = 1;
  let has_get_sbp_fn = 1;
  let has_data_type_infer_fn = 1;
}
class Pool<string name> : OneFlow_BaseOp<name, [NoMemoryEffect, NoGrad, CpuOnly, SupportNonContiguous]> {
  let input = (ins Variadic<OneFlow_Tensor>:$in, Optional<OneFlow_Tensor>:$bias);
  let output = (outs OneFlow_Tensor: $out, Variadic<OneFlow_Tensor>:$more);
  let attrs = (ins
    SI32ArrayAttr:$kernel_size, DefaultValuedAttr<StrAttr, "\"same\"">:$padding,
    DefaultValuedAttr<SI64Attr, "-1">:$axis, DefaultValuedAttr<BoolAttr, "true">:$ceil
  );
  let same_output_regst_num = 2;
}
def OneFlow_PoolOp : Pool<"pool"> { let summary = "Pools."; let has_check_fn = 1; }
def OneFlow_Pool2Op : Pool<"pool2"> { let attrs = (ins F64Attr:$x); }
