// y = x > 0 ? x : alpha * x, its gradient, and two small ones.
def OneFlow_FnLeakyOp : OneFlow_BaseOp<"fn_leaky", [NoSideEffect, SameOperandsAndResultType]> {
  let input = (ins OneFlow_Tensor:$x);
  let output = (outs OneFlow_Tensor:$y);
  let attrs = (ins DefaultValuedAttr<F32Attr, "0.1">:$alpha);
}
def OneFlow_FnLeakyGradOp : OneFlow_BaseOp<"fn_leaky_grad", [NoSideEffect, SameOperandsAndResultType]> {
  let input = (ins OneFlow_Tensor:$x, OneFlow_Tensor:$dy);
  let output = (outs OneFlow_Tensor:$dx);
  let attrs = (ins DefaultValuedAttr<F32Attr, "0.1">:$alpha);
}
def OneFlow_FnBothOp : OneFlow_BaseOp<"fn_both", [NoSideEffect]> {
  let input = (ins OneFlow_Tensor:$x);
  let output = (outs OneFlow_Tensor:$y);
}
def OneFlow_FnSumOp : OneFlow_BaseOp<"fn_sum", [NoSideEffect, NoGrad]> {
  let input = (ins Variadic<OneFlow_Tensor>:$in, Optional<OneFlow_Tensor>:$bias);
  let output = (outs OneFlow_Tensor:$out);
  let attrs = (ins SI64ArrayAttr:$weights);
}
