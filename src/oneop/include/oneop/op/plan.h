// What follows from a schema and a dtype for a kernel, and what is said of functors that do not
// fit.
#ifndef ONEOP_OP_PLAN_H_
#define ONEOP_OP_PLAN_H_

#include "oneop/op/record.h"
#include "oneop/op/types.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

template <class Text>
struct SchemaOf {
  static constexpr Schema kSchema = ParseSchema(Text::value());
};

// The dtypes of inputs that are changed in place.
template <class S, class Ins, class Numbers>
struct MutableOf;
template <class S, size_t... I>
struct MutableOf<S, Types<>, std::index_sequence<I...>> {
  using type = Types<>;
};
template <class S, class A, class... Rest, size_t I, size_t... Others>
struct MutableOf<S, Types<A, Rest...>, std::index_sequence<I, Others...>> {
  using type =
      Concatenated<std::conditional_t<S::kSchema.inputs[I].is_mutable, Types<A>, Types<>>,
                   typename MutableOf<S, Types<Rest...>, std::index_sequence<Others...>>::type>;
};
template <class Ins>
struct ComputeTypesOf;
template <class... A>
struct ComputeTypesOf<Types<A...>> {
  using type = Types<ComputeType<A>...>;
};

// Everything about a kernel that follows from schema S and a dtype or signature T.
template <class S, class T>
struct Plan {
  using Sig = Signature<T, S::kSchema.num_inputs, S::kSchema.num_outputs>;
  using Ins = typename Sig::Ins;
  using Outs = typename Sig::Outs;
  using Readers = AttrReaders<S, typename RealOfTypes<Concatenated<Ins, Outs>>::type>;
  static constexpr bool kFits =
      Ins::kCount == S::kSchema.num_inputs && Outs::kCount == S::kSchema.num_outputs;
};
template <class S, class P>
using ResultsOf = Concatenated<
    typename P::Outs,
    typename MutableOf<S, typename P::Ins, std::make_index_sequence<P::Ins::kCount>>::type>;

// What is wrong with a functor. `outputs` and `attrs`: whether it takes these too.
ONEOP_COLD inline void UnfitFunctor(const OpRecord& op, std::string_view form,
                                    std::string_view what, bool outputs, bool attrs) {
  std::string names;
  const Schema& schema = *op.schema;
  const auto add = [&](std::string_view name) {
    names.append(names.empty() ? "auto " : ", auto ").append(name);
  };
  for (int i = 0; i < schema.num_inputs; ++i) {
    add(schema.inputs[i].name);
  }
  for (int i = 0; i < (outputs ? schema.num_outputs : 0); ++i) {
    add(schema.outputs[i].name);
  }
  for (int i = 0; i < (attrs ? schema.num_attrs : 0); ++i) {
    add(schema.attrs[i].name);
  }
  names.append(attrs ? "" : ", oneop::Attrs attrs, oneop::Call& call");
  op.Mistake({"the functor of .", form, " does not fit the schema\n    ", schema.text,
              "\n  it must take ", what, ":\n    [](", names, ") { ... }"});
}
// `number` counts the inputs and then the attributes.
ONEOP_COLD inline void NarrowFunctor(const OpRecord& op, std::string_view form, int number) {
  const Schema& schema = *op.schema;
  const int attr = number - schema.num_inputs;
  const std::string_view name = attr < 0 ? schema.inputs[number].name : schema.attrs[attr].name;
  op.Mistake({"the functor of .", form, " takes \"", name,
              "\" as a type that cannot hold its values\n    ", schema.text, "\n  write auto ",
              name, ", or a type as wide as that of the ", attr < 0 ? "elements" : "schema"});
}
ONEOP_COLD inline void WrongResults(const OpRecord& op, int wanted) {
  op.Mistake({"the functor of .elementwise does not fit the schema\n    ", op.schema->text,
              "\n  it must return ", sdk::Digits(wanted), wanted == 1 ? " result" : " results",
              "; several are returned by return results(a, b)"});
}
ONEOP_COLD inline void WrongTensors(const OpRecord& op, std::string_view form) {
  op.Mistake({".", form, " takes one or more inputs that are Tensor, and no lists or optional ones",
              "\n  use .kernel for others"});
}
ONEOP_COLD inline void WrongSignature(const OpRecord& op) {
  op.Mistake({"a signature of its kernels does not fit the schema\n    ", op.schema->text,
              "\n  write output(inputs), such as float(float, int64_t), or a dtype for all"});
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_PLAN_H_
