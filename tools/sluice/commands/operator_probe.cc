#include "sluice/commands/operator_probe.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backend/op.h"
#include "ops/inference.h"

namespace sluice::tool {
namespace {

constexpr std::size_t kNoneIsThere = 100;
constexpr std::size_t kAllAreThere = 101;

/// One made-up operation.
struct Probe {
  ir::ElementType element;  ///< of the first input, and of all with its type variable
  std::size_t first_rank;
  std::size_t second_rank;
  std::size_t other_rank;
  std::size_t optional_input;  ///< which optional input is present: one of the two below, or it
  bool is_open;                ///< dimensions are known only at run time; else all are 1
  bool has_constants;          ///< inputs but the first are constants, as weights and sizes are
};

enum class Taken { kNo, kByGenericKernel, kByOwnKernel };

/// Whether the operator reads a tensor, other than the state of random numbers.
bool reads_data(const ops::OpSchema& schema) {
  return !schema.inputs.empty() && !schema.inputs[0].is_random_state;
}

ir::Attribute required_value(const ops::AttributeSpec& spec, const Probe& probe) {
  if (spec.name == "direction") return std::string("LEFT");
  if (spec.name == "equation") return std::string("i->i");
  if (spec.name == "kernel_shape") {
    return std::vector<std::int64_t>(probe.first_rank > 2 ? probe.first_rank - 2 : 1, 1);
  }
  if (spec.name == "pooled_shape") return std::vector<std::int64_t>{1, 1};
  if (spec.name == "shape") return std::vector<std::int64_t>{1};
  if (!spec.default_value) return std::int64_t{1};
  ir::Attribute value = *spec.default_value;
  if (auto* number = std::get_if<std::int64_t>(&value)) *number = 1;
  if (auto* numbers = std::get_if<std::vector<std::int64_t>>(&value)) *numbers = {1};
  return value;
}

ir::ElementType element_of(const ops::OperandSpec& spec, const ops::OpSchema& schema,
                           const Probe& probe) {
  using ir::ElementType;
  const bool follows =
      reads_data(schema) && spec.variable == schema.inputs[0].variable && !spec.variable.empty();
  if (follows) return probe.element;
  for (const auto likely : {ElementType::kF32, ElementType::kI64, ElementType::kBool}) {
    if (spec.types.contains(likely)) return likely;
  }
  return probe.element;
}

ir::Constant small_tensor(ir::ElementType element, ir::Shape shape = {2}) {
  const auto bytes = ir::storage_bytes(element, 2).value_or(0);
  return {ir::Type::tensor(element, std::move(shape)),
          Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(bytes)))};
}

/// Lists that only make sense together, and so have no defaults: the smallest tree ensembles.
void add_samples(const ops::OpSchema& schema, const Probe& probe, ir::Operation& operation) {
  using Ints = std::vector<std::int64_t>;
  const auto set = [&](std::string name, ir::Attribute value) {
    operation.attributes.set(std::move(name), std::move(value));
  };
  if (schema.name == "TreeEnsemble") {
    for (const char* name :
         {"nodes_truenodeids", "nodes_falsenodeids", "nodes_featureids", "leaf_targetids"}) {
      set(name, Ints{0, 0});
    }
    for (const char* name : {"nodes_trueleafs", "nodes_falseleafs"}) set(name, Ints{1, 1});
    for (const char* name : {"nodes_splits", "leaf_weights"})
      set(name, small_tensor(probe.element));
    set("nodes_modes", small_tensor(ir::ElementType::kU8));
    set("tree_roots", Ints{0});
  } else if (schema.name.starts_with("TreeEnsemble")) {
    for (const char* name : {"nodes_treeids", "nodes_nodeids", "nodes_truenodeids",
                             "nodes_falsenodeids", "nodes_featureids"}) {
      set(name, Ints{0});
    }
    set("nodes_modes", std::vector<std::string>{"LEAF"});
    set("nodes_values", std::vector<float>{0});
    set("classlabels_int64s", Ints{0, 1});
  }
}

class ProbeGraph {
 public:
  ProbeGraph(const ops::OpSchema& schema, const Probe& probe) {
    operation_.domain = schema.domain;
    operation_.kind = schema.name;
    operation_.version = schema.newest_version();
    for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
      const ops::OperandSpec& spec = schema.inputs[i];
      const bool is_there =
          !spec.is_optional || probe.optional_input == kAllAreThere || probe.optional_input == i;
      if (spec.is_random_state) continue;  // the last one
      operation_.inputs.push_back(is_there ? add_input(spec, schema, probe, i) : ir::OperandId());
    }
    for (const ops::OperandSpec& spec : schema.outputs) {
      const bool is_there = !spec.is_optional;
      operation_.outputs.push_back(is_there ? graph_.main().add_operand({}) : ir::OperandId());
    }
    facts_.resize(graph_.main().num_operands());
    if (!reads_data(schema)) {
      operation_.attributes.set("shape", std::vector<std::int64_t>{1});
      operation_.attributes.set("value", ir::make_f32_constant({0}, {1}));
    }
    for (const ops::AttributeSpec& spec : schema.attributes) {
      if (spec.is_required) {
        operation_.attributes.set(std::string(spec.name), required_value(spec, probe));
      }
    }
    add_samples(schema, probe, operation_);
  }

  /// How the backend takes the operation, if that is a sound one.
  Taken taken_by(const ops::OpSchema& schema, const backend::Backend& backend) {
    if (!ops::normalize(schema, graph_.main(), operation_).is_ok()) return Taken::kNo;
    facts_.resize(graph_.main().num_operands());
    const auto inputs = ops::input_facts(operation_, facts_);
    ops::InferenceContext context(operation_, inputs);
    if (!ops::infer_operation(context).is_ok()) return Taken::kNo;
    for (std::size_t i = 0; i < operation_.outputs.size(); ++i) {
      if (!operation_.outputs[i].is_valid()) continue;
      graph_.main().operand(operation_.outputs[i]).type = context.output(i);
    }
    const auto op = backend::Op::create({graph_, graph_.main(), operation_});
    if (!op.is_ok()) return Taken::kNo;
    const auto support = backend.query(*op);
    if (!support.is_ok() || !support->is_supported) return Taken::kNo;
    return support->is_generic ? Taken::kByGenericKernel : Taken::kByOwnKernel;
  }

 private:
  ir::OperandId add_input(const ops::OperandSpec& spec, const ops::OpSchema& schema,
                          const Probe& probe, std::size_t index) {
    std::size_t rank = index == 1 ? probe.second_rank : probe.other_rank;
    if (spec.is_shape_value) rank = 1;
    if (index == 0) rank = probe.first_rank;
    const auto element = index == 0 ? probe.element : element_of(spec, schema, probe);
    constexpr std::int64_t kLength = 4;  // of a vector that sizes the result
    const ir::Dim open = spec.is_shape_value ? ir::Dim(kLength) : ir::Dim::symbol("N");
    const ir::Dim dim = probe.is_open ? open : ir::Dim(1);
    const ir::Type type = ir::Type::tensor(element, ir::Shape(rank, dim));
    if (probe.has_constants && index > 0 && !probe.is_open) {
      return add_constant(spec, element, ir::Shape(rank, ir::Dim(1)));
    }
    const ir::OperandId id = graph_.main().add_operand({"", type, {}});
    facts_.resize(graph_.main().num_operands());
    facts_[id.index()] = {type, std::nullopt, std::nullopt};
    if (spec.is_shape_value) {
      const auto length = static_cast<std::size_t>(probe.is_open ? kLength : 1);
      facts_[id.index()].values = ops::Values(length, 1);
      facts_[id.index()].float_values = ops::FloatValues(length, 1.0);
    }
    return id;
  }

  /// A zero, and a one where it sizes the result.
  ir::OperandId add_constant(const ops::OperandSpec& spec, ir::ElementType element,
                             const ir::Shape& shape) {
    const bool is_size = spec.is_shape_value && element == ir::ElementType::kI64;
    const ir::OperandId id = graph_.main().add_constant(
        "", is_size ? ir::make_i64_constant({1}, shape) : small_tensor(element, shape));
    facts_.resize(graph_.main().num_operands());
    facts_[id.index()] = {graph_.main().operand(id).type, std::nullopt, std::nullopt};
    if (spec.is_shape_value) {
      facts_[id.index()].values = ops::Values(1, is_size ? 1 : 0);
      facts_[id.index()].float_values = ops::FloatValues(1, is_size ? 1.0 : 0.0);
    }
    return id;
  }

  ir::Graph graph_;
  ir::Operation operation_;
  ops::SubgraphFacts facts_;
};

/// Calls `visit(probe)` until it says that this is enough: equal ranks, a first rank that differs
/// from the others, and decreasing ranks, as RoiAlign needs.
template <typename Visit>
void for_each_probe(ir::ElementType element, const Visit& visit) {
  for (const std::size_t first : {4, 3, 2, 1, 0}) {
    for (const std::size_t second : {first, std::size_t{2}, std::size_t{1}, std::size_t{0}}) {
      for (const std::size_t other : {second, std::size_t{1}, std::size_t{0}}) {
        for (const std::size_t optional : {kNoneIsThere, kAllAreThere, std::size_t{2}}) {
          for (const auto& [is_open, has_constants] :
               {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
            if (visit(Probe{element, first, second, other, optional, is_open, has_constants})) {
              return;
            }
          }
        }
      }
    }
  }
}

/// The best way in which the backend takes one of the probes.
Taken best_way(const backend::Backend& backend, const ops::OpSchema& schema,
               ir::ElementType element) {
  Taken best = Taken::kNo;
  for_each_probe(element, [&](const Probe& probe) {
    best = std::max(best, ProbeGraph(schema, probe).taken_by(schema, backend));
    return best == Taken::kByOwnKernel;
  });
  return best;
}

}  // namespace

TypesTaken types_taken(const backend::Backend& backend, const ops::OpSchema& schema) {
  TypesTaken taken;
  if (schema.has(ops::kControlFlow) || schema.outputs.empty()) return taken;
  const ops::OperandSpec& spec = reads_data(schema) ? schema.inputs[0] : schema.outputs[0];
  for (int number = 1; ir::element_type_from_onnx(number); ++number) {
    const ir::ElementType element = *ir::element_type_from_onnx(number);
    if (!spec.types.contains(element)) continue;
    const Taken way = best_way(backend, schema, element);
    if (way == Taken::kByOwnKernel) taken.own.push_back(element);
    if (way == Taken::kByGenericKernel) taken.generic.push_back(element);
  }
  return taken;
}

}  // namespace sluice::tool
