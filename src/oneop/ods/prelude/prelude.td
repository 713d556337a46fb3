// What op definitions may use without an include: the words of MLIR's ODS and of OneFlow's base file that seeds and
// real definitions use. A definition of the same name in a user's file, or in one it includes, takes its place.

def ins;
def outs;
def region;
def successor;

class Pred;
class CPred<string pred> : Pred { string predExpr = pred; }

class Dialect {
  string name = ?;
  string summary = ?;
  string description = ?;
  string cppNamespace = name;
  list<string> dependentDialects = [];
  code extraClassDeclaration = "";
  bit hasConstantMaterializer = 0;
  bit hasOperationAttrVerify = 0;
  bit useDefaultTypePrinterParser = 0;
  bit useDefaultAttributePrinterParser = 0;
}

// --- Traits and interfaces -------------------------------------------------------------------------------------------

class Trait;
class OpTrait : Trait;  // MLIR's name for it before 2022: lists of either take every trait
class NativeOpTrait<string name> : OpTrait { string trait = name; string cppNamespace = "::mlir::OpTrait"; }
class ParamNativeOpTrait<string prop, string params> : NativeOpTrait<prop # "<" # params # ">::Impl">;
class TraitList<list<Trait> props> : OpTrait { list<Trait> traits = props; }
class InterfaceMethod<string desc, string ret, string name, dag args = (ins), code body = "", code impl = ""> {
  string description = desc;
  string returnType = ret;
  string methodName = name;
  dag arguments = args;
  code methodBody = body;
  code defaultBody = impl;
}
class StaticInterfaceMethod<string desc, string ret, string name, dag args = (ins), code body = "", code impl = "">
    : InterfaceMethod<desc, ret, name, args, body, impl>;
class OpInterface<string name> : OpTrait {
  string cppInterfaceName = name;
  string cppNamespace = "";
  string description = "";
  list<InterfaceMethod> methods = [];
}
class DeclareOpInterfaceMethods<OpInterface interface, list<string> overridden = []>
    : OpInterface<interface.cppInterfaceName> {
  let cppNamespace = interface.cppNamespace;
  let description = interface.description;
  let methods = interface.methods;
  list<string> alwaysOverriddenMethods = overridden;
  OpInterface declared = interface;
}

def NoSideEffect : NativeOpTrait<"NoSideEffect">;      // MLIR's name for it before LLVM 16
def NoMemoryEffect : NativeOpTrait<"NoMemoryEffect">;  // and after
def Pure : NativeOpTrait<"Pure">;
def AttrSizedOperandSegments : NativeOpTrait<"AttrSizedOperandSegments">;
def AttrSizedResultSegments : NativeOpTrait<"AttrSizedResultSegments">;
def SameOperandsAndResultType : NativeOpTrait<"SameOperandsAndResultType">;
def Commutative : NativeOpTrait<"IsCommutative">;
def Idempotent : NativeOpTrait<"IsIdempotent">;
def Involution : NativeOpTrait<"IsInvolution">;
def ConstantLike : NativeOpTrait<"ConstantLike">;
def Terminator : NativeOpTrait<"IsTerminator">;
def InferTypeOpInterface : OpInterface<"InferTypeOpInterface">;
def CallOpInterface : OpInterface<"CallOpInterface">;

def NoGrad : NativeOpTrait<"NoGrad">;
def CpuOnly : NativeOpTrait<"CpuOnly">;
def SupportNonContiguous : NativeOpTrait<"SupportNonContiguous">;
def UserOpCompatibleInterface : OpInterface<"UserOpCompatible">;
def AlternativeOpTypeNameInterface : OpInterface<"HasAlternativeOpTypeName">;
def ControlEdgeCompatibleInterface : OpInterface<"ControlEdgeCompatible">;
def NCHWCompatibleInterface : OpInterface<"NCHWCompatible">;
def BiasAddCompatibleInterface : OpInterface<"BiasAddCompatible">;
def MatMulCompatibleInterface : OpInterface<"MatMulCompatible">;

// --- Types -----------------------------------------------------------------------------------------------------------

class TypeConstraint<string desc = ""> { string summary = desc; }
class Type<string desc = ""> : TypeConstraint<desc>;
class Variadic<TypeConstraint type> : TypeConstraint<type.summary> { TypeConstraint baseType = type; }
class Optional<TypeConstraint type> : TypeConstraint<type.summary> { TypeConstraint baseType = type; }
class TensorOf<list<Type> types> : Type<"tensor"> { list<Type> elementTypes = types; }
class AnyTypeOf<list<Type> types> : Type<"any of"> { list<Type> allowedTypes = types; }
class TypeDef<Dialect d, string name, list<Trait> props = []> : Type<name> {
  Dialect dialect = d;
  string cppClassName = name # "Type";
  string mnemonic = ?;
  dag parameters = (ins);
  string description = "";
  string assemblyFormat = ?;
  list<Trait> traits = props;
  code extraClassDeclaration = "";
}
def AnyType : Type<"any type">;
def AnyTensor : Type<"tensor of any type">;
def OneFlow_Tensor : Type<"tensor">;
def OneFlow_TensorBufferTensor : Type<"tensor of buffers">;

// --- Attributes ------------------------------------------------------------------------------------------------------

class Attr<string desc = ""> {
  string summary = desc;
  Attr baseAttr = ?;
  string defaultValue = ?;
  bit isOptional = 0;
  string constBuilderCall = "";
}
class StringBasedAttr<Pred pred, string desc> : Attr<desc>;
class TypedArrayAttrBase<Attr element, string desc> : Attr<desc> { Attr elementAttr = element; }
class ArrayOfAttr<Attr element> : Attr<"array"> { Attr elementAttr = element; }
class DefaultValuedAttr<Attr attr, string val> : Attr<attr.summary> {
  let baseAttr = attr;
  let defaultValue = val;
}
class DefaultValuedStrAttr<Attr attr, string val> : DefaultValuedAttr<attr, "\"" # val # "\"">;
class DefaultValuedOptionalAttr<Attr attr, string val> : DefaultValuedAttr<attr, val> { let isOptional = 1; }
class OptionalAttr<Attr attr> : Attr<attr.summary> {
  let baseAttr = attr;
  let isOptional = 1;
}
class AttrDef<Dialect d, string name, list<Trait> props = []> : Attr<name> {
  Dialect dialect = d;
  string cppClassName = name # "Attr";
  string mnemonic = ?;
  dag parameters = (ins);
  string description = "";
  string assemblyFormat = ?;
  list<Trait> traits = props;
  code extraClassDeclaration = "";
}
class I32EnumAttrCase<string sym, int val> { string symbol = sym; int value = val; }
class I32EnumAttr<string name, string desc, list<I32EnumAttrCase> cases> : Attr<desc> {
  string className = name;
  string cppNamespace = "";
  list<I32EnumAttrCase> enumerants = cases;
  string underlyingType = "uint32_t";
  string stringToSymbolFnName = "symbolize" # name;
  string symbolToStringFnName = "stringify" # name;
}

def BoolAttr : Attr<"bool">;
def I32Attr : Attr<"32-bit integer">;
def I64Attr : Attr<"64-bit integer">;
def SI32Attr : Attr<"32-bit integer">;
def SI64Attr : Attr<"64-bit integer">;
def F32Attr : Attr<"32-bit float">;
def F64Attr : Attr<"64-bit float">;
def StrAttr : Attr<"string">;
def FlatSymbolRefAttr : Attr<"symbol">;
def I32ArrayAttr : TypedArrayAttrBase<I32Attr, "32-bit integers">;
def I64ArrayAttr : TypedArrayAttrBase<I64Attr, "64-bit integers">;
def DenseI32ArrayAttr : TypedArrayAttrBase<I32Attr, "32-bit integers">;
def DenseI64ArrayAttr : TypedArrayAttrBase<I64Attr, "64-bit integers">;
def I32ElementsAttr : Attr<"32-bit integers">;
def I64ElementsAttr : Attr<"64-bit integers">;
def SI32ArrayAttr : TypedArrayAttrBase<SI32Attr, "32-bit integers">;
def SI64ArrayAttr : TypedArrayAttrBase<SI64Attr, "64-bit integers">;
def F32ArrayAttr : TypedArrayAttrBase<F32Attr, "32-bit floats">;
def F64ArrayAttr : TypedArrayAttrBase<F64Attr, "64-bit floats">;
def BoolArrayAttr : TypedArrayAttrBase<BoolAttr, "bools">;
def StrArrayAttr : TypedArrayAttrBase<StrAttr, "strings">;
def ShapeAttr : Attr<"shape">;
def ShapeArrayAttr : TypedArrayAttrBase<ShapeAttr, "shapes">;
def OneFlow_DataType : Attr<"data type">;
def DTArrayAttr : TypedArrayAttrBase<OneFlow_DataType, "data types">;
def ComplexDoubleAttr : Attr<"complex number">;
def BytesAttr : Attr<"bytes">;
def ScalarAttr : Attr<"number of any kind">;
def OneFlow_MemoryFormat : Attr<"memory format">;

// --- Ops -------------------------------------------------------------------------------------------------------------

class OpBuilder<dag p, code b = ""> { dag dagParams = p; code body = b; }
class CArg<string ty, string value = ""> { string type = ty; string defaultValue = value; }
class Op<Dialect dialect, string mnemonic, list<Trait> props = []> {
  Dialect opDialect = dialect;
  string opName = mnemonic;
  string summary = "";
  string description = "";
  dag arguments = (ins);
  dag results = (outs);
  dag regions = (region);
  dag successors = (successor);
  list<OpBuilder> builders = [];
  bit skipDefaultBuilders = 0;
  string assemblyFormat = "";
  bit hasCustomAssemblyFormat = 0;
  bit hasVerifier = 0;
  bit hasCanonicalizer = 0;
  bit hasCanonicalizeMethod = 0;
  bit hasFolder = 0;
  list<Trait> traits = props;
  code extraClassDeclaration = "";
  code extraClassDefinition = "";
}

def OneFlow_Dialect : Dialect {
  let name = "oneflow";
  let summary = "";
  let description = "";
  let cppNamespace = "::mlir::oneflow";
}

class OneFlow_BaseOp<string mnemonic, list<Trait> props = []> : Op<OneFlow_Dialect, mnemonic, props> {
  dag input = (ins);
  dag output = (outs);
  dag attrs = (ins);
  dag trait_attrs = (ins);
  int same_output_regst_num = -1;
  bit has_check_fn = 0;
  bit has_logical_tensor_desc_infer_fn = 0;
  bit has_physical_tensor_desc_infer_fn = 0;
  bit has_get_sbp_fn = 0;
  bit has_sbp_signature_infer_fn = 0;
  bit has_data_type_infer_fn = 0;
  bit has_device_and_stream_infer_fn = 0;
  bit has_input_arg_modify_fn = 0;
  bit has_output_arg_modify_fn = 0;
  bit has_output_blob_time_shape_infer_fn = 0;
  bit has_nd_sbp_infer_fn = 0;
  bit has_compute_complexity_fn = 0;
  bit has_get_nd_sbp_fn = 0;
  bit has_enumerate_nd_sbp_signatures_fn = 0;
  bit has_dump_nd_sbp_signature_for_op_conf_fn = 0;
}

class OneFlow_IdempotentBaseOp<string mnemonic, list<Trait> props = []>
    : OneFlow_BaseOp<mnemonic, !listconcat(props, [Idempotent, SameOperandsAndResultType])>;
class OneFlow_InvolutionBaseOp<string mnemonic, list<Trait> props = []>
    : OneFlow_BaseOp<mnemonic, !listconcat(props, [Involution, SameOperandsAndResultType])>;

// --- Passes, which OneFlow declares beside its ops; nothing here runs them -------------------------------------------

class Option<string cppName, string flag, string valueType, string value, string desc, string more = ""> {
  string cppVariableName = cppName;
  string argument = flag;
  string type = valueType;
  string defaultValue = value;
  string description = desc;
}
class Pass<string flag, string op = ""> {
  string argument = flag;
  string operation = op;
  string summary = "";
  string description = "";
  code constructor = "";
  list<string> dependentDialects = [];
  list<Option> options = [];
}
class FunctionPass<string flag> : Pass<flag, "FuncOp">;  // MLIR's until 2022
