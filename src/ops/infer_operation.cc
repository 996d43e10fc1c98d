// What every operator is checked for before and after its own shape function.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/log/work_counts.h"
#include "ir/dim_facts.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

// More than any model has; a bound for what files ask of memory and recursion.
constexpr std::size_t kMaxRank = 64;

const OperandSpec* spec_at(const std::vector<OperandSpec>& specs, std::size_t index) {
  if (index < specs.size()) return &specs[index];
  return !specs.empty() && specs.back().is_variadic ? &specs.back() : nullptr;
}

Status check_inputs(const OpSchema& schema, const InferenceContext& context) {
  // Element types by the names of type variables: inputs with one name must agree.
  std::map<std::string_view, ir::ElementType> variables;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const OperandSpec* spec = spec_at(schema.inputs, i);
    if (spec == nullptr || !context.has_input(i)) continue;
    const ir::Type& type = context.input(i);
    if (!type.is_tensor()) {
      if (schema.has(kControlFlow) || spec->takes_any_type) continue;
      return context.error("input \"{}\" must be a tensor, not {}", spec->name, type.to_string());
    }
    const ir::Shape* shape = type.shape();
    if (spec->is_single && shape != nullptr && ir::num_elements(*shape).value_or(1) != 1) {
      return context.error("input \"{}\" has shape {}; it takes one element", spec->name,
                           ir::shape_to_string(*shape));
    }
    // A type that is not known yet is checked when it is: inference runs again.
    if (type.element() == ir::ElementType::kUndefined) continue;
    if (!spec->types.contains(type.element())) {
      return context.error("input \"{}\" has element type {}; it accepts {}", spec->name,
                           ir::element_type_name(type.element()), spec->types.to_string());
    }
    if (spec->variable.empty()) continue;
    const auto [it, is_new] = variables.emplace(spec->variable, type.element());
    if (!is_new && it->second != type.element()) {
      return context.error(
          "input \"{}\" has element type {}, another input of the same type {} has {}", spec->name,
          ir::element_type_name(type.element()), spec->variable, ir::element_type_name(it->second));
    }
  }
  return ok_status();
}

/// The element type that the schema alone gives an output: that of an input with the same variable,
/// or the only one that it can have.
std::optional<ir::ElementType> element_of(const OpSchema& schema, const OperandSpec& output,
                                          const InferenceContext& context) {
  for (std::size_t i = 0; i < context.num_inputs() && !output.variable.empty(); ++i) {
    const OperandSpec* input = spec_at(schema.inputs, i);
    const bool is_same = input != nullptr && input->variable == output.variable;
    if (is_same && context.input(i).is_tensor()) return context.element(i);
  }
  return output.types.only();
}

void set_elements(const OpSchema& schema, InferenceContext& context) {
  if (schema.has(kControlFlow)) return;
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    const OperandSpec* output = spec_at(schema.outputs, i);
    if (output == nullptr || output->takes_any_type) continue;
    const auto element = element_of(schema, *output, context);
    if (element) context.set_output(i, *element, std::nullopt);
  }
}

bool has_unnamed_dims(const ir::Type& type) {
  using Kind = ir::Type::Kind;
  if (type.kind() == Kind::kSequence || type.kind() == Kind::kOptional) {
    return has_unnamed_dims(type.item());
  }
  return type.is_tensor() && type.shape() != nullptr &&
         std::ranges::any_of(*type.shape(), ir::is_unnamed);
}

ir::Type with_named_dims(InferenceContext& context, const ir::Type& type) {
  using Kind = ir::Type::Kind;
  if (type.kind() == Kind::kSequence) {
    return ir::Type::sequence(with_named_dims(context, type.item()));
  }
  if (type.kind() == Kind::kOptional) {
    return ir::Type::optional(with_named_dims(context, type.item()));
  }
  ir::Shape shape = *type.shape();
  for (ir::Dim& dim : shape) {
    if (ir::is_unnamed(dim)) dim = context.unknown_dim();
  }
  return type.with_shape(std::move(shape));
}

/// Whether all values are numbers and expressions. An unnamed one becomes a symbol unless it may be
/// negative: a symbol stands for a size.
bool name_values(InferenceContext& context, std::size_t output) {
  const std::optional<Values>& found = context.output_values(output);
  if (!found || std::ranges::none_of(*found, ir::is_unnamed)) return true;
  Values values = *found;
  for (ir::Dim& value : values) {
    if (!ir::is_unnamed(value)) continue;
    if (!ir::is_never_negative(value)) return false;
    value = context.unknown_dim();
  }
  context.set_output_values(output, std::move(values));
  return true;
}

/// Gives sizes whose expressions grew too long symbols of this operation.
void name_dims(InferenceContext& context) {
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    if (has_unnamed_dims(context.output(i))) {
      context.set_output(i, with_named_dims(context, context.output(i)));
    }
    if (!name_values(context, i)) context.forget_output_values();
  }
}

/// Sizes come from files, so nothing later may have to count elements in more than 64 bits.
Status check_outputs(const InferenceContext& context) {
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    const ir::Type& type = context.output(i);
    if (!context.has_output(i) || !type.is_tensor() || type.shape() == nullptr) continue;
    if (type.shape()->size() > kMaxRank) {
      return context.error("output {} would have {} dimensions; at most {} are supported", i,
                           type.shape()->size(), kMaxRank);
    }
    for (const ir::Dim& dim : *type.shape()) {
      if (dim.is_overflow()) return context.error("the size of output {} passes 64 bits", i);
      if (dim.is_known() && dim.value() < 0) {
        return context.error("output {} would have shape {}", i,
                             ir::shape_to_string(*type.shape()));
      }
    }
    if (type.is_static() && !ir::num_elements(*type.shape())) {
      return context.error("output {} of shape {} has more elements than 64 bits count", i,
                           ir::shape_to_string(*type.shape()));
    }
  }
  return ok_status();
}

/// Whether `part` broadcasts to `whole` and does not stretch it, as far as the symbols tell.
bool fits_into(const ir::Shape& part, const ir::Shape& whole) {
  const auto both = broadcast_shapes(whole, part);
  if (!both.is_ok() || both->size() != whole.size()) return false;
  const auto is_fit = [](const ir::Dim& a, const ir::Dim& b) {
    return a == b || !a.is_known() || !b.is_known();
  };
  return std::ranges::equal(*both, whole, is_fit);
}

/// A body keeps the shape of the operation's result and may change its element type.
Status apply_body(InferenceContext& context) {
  const ir::Type result = context.output(0);
  std::vector<ir::Type> types = {result};
  for (const ir::Type& type : context.body_inputs()) {
    const bool has_shapes =
        type.is_tensor() && type.shape() && result.is_tensor() && result.shape();
    if (has_shapes && !fits_into(*type.shape(), *result.shape())) {
      return context.error("its body's input {} does not broadcast to {}", type.to_string(),
                           result.to_string());
    }
    types.push_back(type);
  }
  const ir::ElementType element = SLUICE_TRY(context.infer_body_element(types));
  if (element != ir::ElementType::kUndefined) context.set_output(0, result.with_element(element));
  return ok_status();
}

}  // namespace

Status infer_operation(InferenceContext& context) {
  ++work_counts.shape_functions;
  const ir::Operation& operation = context.operation();
  const OpSchema* schema = find_schema(operation.domain, operation.kind);
  if (schema == nullptr) {
    return unimplemented("{}: no such operator", operation.describe());
  }
  if (context.num_outputs() == 0) return context.error("has no outputs");
  SLUICE_TRY(check_inputs(*schema, context));
  set_elements(*schema, context);
  SLUICE_TRY(schema->infer(context));
  // A fused body is a subgraph, whose steps see the operation's result as their first input.
  if (operation.body && !operation.is("Elementwise", "sluice")) {
    if (schema->has(kDataDependentShape)) {
      return context.error("the size of its result depends on data, so it takes no body");
    }
    SLUICE_TRY(apply_body(context));
    context.forget_output_values();
  }
  name_dims(context);
  return check_outputs(context);
}

}  // namespace sluice::ops
