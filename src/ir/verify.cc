#include "ir/verify.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <variant>

#include "base/text/plural.h"

namespace sluice::ir {
namespace {

std::string describe(const Subgraph& subgraph, OperandId id) {
  const std::string& name = subgraph.operand(id).name;
  return name.empty() ? fmt::format("operand %{}", id.value())
                      : fmt::format("operand \"{}\"", name);
}

// Strings lie in a constant as offsets into the bytes that follow them:
//
//   [0, o1, ..., oN] (N + 1 numbers of 8 bytes) [bytes of string 0][bytes of string 1]...
//
// String i is [o(i), o(i+1)), so offsets must not fall, and the last is the number of bytes.
Status verify_string_offsets(const Constant& constant, std::int64_t count) {
  const auto wanted = static_cast<std::uint64_t>(count) + 1;
  const std::uint64_t size = constant.data.size();
  if (size / sizeof(std::int64_t) < wanted) {
    return invalid_argument("too small for the offsets of {} strings", count);
  }
  const std::uint64_t limit = size - wanted * sizeof(std::int64_t);
  std::int64_t last = 0;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    std::int64_t offset = 0;
    std::memcpy(&offset, constant.data.data() + i * sizeof(offset), sizeof(offset));
    if (offset < last || static_cast<std::uint64_t>(offset) > limit || (i == 0 && offset != 0)) {
      return invalid_argument("string {} has an offset outside the data", i);
    }
    last = offset;
  }
  if (static_cast<std::uint64_t>(last) == limit) return ok_status();
  return invalid_argument("bytes follow the last string");
}

/// Calls `visit(SubgraphId)` for each subgraph that an operation names.
template <typename Visit>
void for_each_subgraph(const Operation& operation, const Visit& visit) {
  for (const auto& [name, value] : operation.attributes) {
    if (const auto* id = std::get_if<SubgraphId>(&value)) visit(*id);
    if (const auto* ids = std::get_if<std::vector<SubgraphId>>(&value)) {
      for (const SubgraphId inner : *ids) visit(inner);
    }
  }
  if (operation.body) visit(operation.body->subgraph);
}

/// Checks one subgraph by itself: operands exist, every operand has one writer, and each read comes
/// after the write, which also rules out cycles.
class SubgraphVerifier {
 public:
  SubgraphVerifier(const Graph& graph, const Subgraph& subgraph)
      : graph_(graph), subgraph_(subgraph), is_written_(subgraph.num_operands()) {}

  Status run() {
    SLUICE_TRY(operands());
    for (const OperandId input : subgraph_.inputs) {
      SLUICE_TRY(write(input).with_context("inputs"));
    }
    for (const OperationId id : subgraph_.order()) {
      const Operation& operation = subgraph_.operation(id);
      SLUICE_TRY(verify_operation(operation).with_context(operation.describe()));
    }
    for (const OperandId output : subgraph_.outputs) {
      SLUICE_TRY(read(output).with_context("outputs"));
    }
    return ok_status();
  }

 private:
  Status operands() {
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < subgraph_.num_operands(); ++i) {
      const Operand& operand = subgraph_.operand(OperandId(i));
      if (!operand.name.empty() && !names.insert(operand.name).second) {
        return invalid_argument("two operands are named \"{}\"", operand.name);
      }
      if (!operand.constant) continue;
      is_written_[i] = true;
      const std::string context = describe(subgraph_, OperandId(i));
      if (!is_left_out(*operand.constant)) {
        SLUICE_TRY(verify_constant(*operand.constant).with_context(context));
      }
      if (!(operand.constant->type == operand.type)) {
        return invalid_argument("{} has type {}, its constant {}", context,
                                operand.type.to_string(), operand.constant->type.to_string());
      }
    }
    return ok_status();
  }

  Status exists(OperandId id) const {
    if (id.is_valid() && id.index() < subgraph_.num_operands()) return ok_status();
    return invalid_argument("operand %{} does not exist", id.value());
  }

  Status read(OperandId id) const {
    SLUICE_TRY(exists(id));
    if (is_written_[id.index()]) return ok_status();
    return invalid_argument("{} is read before it is written", describe(subgraph_, id));
  }

  Status write(OperandId id) {
    SLUICE_TRY(exists(id));
    if (is_written_[id.index()]) {
      return invalid_argument("{} is written twice, or is a constant", describe(subgraph_, id));
    }
    is_written_[id.index()] = true;
    return ok_status();
  }

  Status verify_operation(const Operation& operation) {
    for (const OperandId input : operation.inputs) {
      if (input != OperandId()) SLUICE_TRY(read(input));
    }
    if (operation.body) SLUICE_TRY(verify_body(operation).with_context("body"));
    for (const auto& [name, value] : operation.attributes) {
      SLUICE_TRY(verify_attribute(value).with_context("attribute \"" + name + "\""));
    }
    for (const OperandId output : operation.outputs) {
      if (output != OperandId()) SLUICE_TRY(write(output));
    }
    return ok_status();
  }

  static Status verify_attribute(const Attribute& value) {
    if (const auto* constant = std::get_if<Constant>(&value)) return verify_constant(*constant);
    if (const auto* constants = std::get_if<std::vector<Constant>>(&value)) {
      for (const Constant& constant : *constants) SLUICE_TRY(verify_constant(constant));
    }
    return ok_status();
  }

  Status verify_body(const Operation& operation) const {
    for (const OperandId input : operation.body->inputs) SLUICE_TRY(read(input));
    const Subgraph& body = graph_.subgraph(operation.body->subgraph);
    // The first input of a body is what its operation computes; sluice::Elementwise computes
    // nothing.
    const std::size_t own = operation.is("Elementwise", "sluice") ? 0 : 1;
    if (body.inputs.size() != own + operation.body->inputs.size()) {
      return invalid_argument("takes {} but gets {}", counted(body.inputs.size(), "input"),
                              own + operation.body->inputs.size());
    }
    if (body.outputs.size() != 1) {
      return invalid_argument("has {} outputs; it must have one", body.outputs.size());
    }
    for (const OperationId id : body.order()) {
      const Operation& inner = body.operation(id);
      bool is_plain = inner.outputs.size() == 1;
      for_each_subgraph(inner, [&](SubgraphId /*id*/) { is_plain = false; });
      if (!is_plain) {
        return invalid_argument("{} has more than one output, or a subgraph", inner.describe());
      }
    }
    return ok_status();
  }

  const Graph& graph_;
  const Subgraph& subgraph_;
  std::vector<bool> is_written_;  // so far, by operand
};

/// Visits subgraphs depth first. Refuses unknown subgraphs, cycles, deep nesting, and subgraphs
/// that two operations run. Runs before SubgraphVerifier, which looks subgraphs up without a check.
/// Heights are kept, so that the visit takes linear time however often a body is shared.
class NestingVerifier {
 public:
  explicit NestingVerifier(const Graph& graph)
      : graph_(graph), heights_(graph.num_subgraphs(), kNew), has_caller_(graph.num_subgraphs()) {}

  Status run() {
    for (std::size_t i = 0; i < graph_.num_subgraphs(); ++i) SLUICE_TRY(visit(SubgraphId(i), 0));
    return ok_status();
  }

 private:
  static constexpr int kNew = -1;
  static constexpr int kOpen = -2;
  static constexpr int kMaxDepth = 64;

  /// `depth`: number of enclosing subgraphs. A height counts the levels below a subgraph.
  Status visit(SubgraphId id, int depth) {
    if (!id.is_valid() || id.index() >= graph_.num_subgraphs()) {
      return invalid_argument("subgraph {} does not exist", id.value());
    }
    int& height = heights_[id.index()];
    if (height == kOpen) return invalid_argument("subgraph {} contains itself", id.value());
    if (height != kNew) return check_depth(depth + height);
    SLUICE_TRY(check_depth(depth));
    height = kOpen;
    int most = 0;
    const Subgraph& subgraph = graph_.subgraph(id);
    for (const OperationId at : subgraph.order()) {
      const Operation& operation = subgraph.operation(at);
      Status status = check_callers(operation);
      for_each_subgraph(operation, [&](SubgraphId inner) {
        if (status.is_ok()) status = visit(inner, depth + 1);
        if (status.is_ok()) most = std::max(most, heights_[inner.index()] + 1);
      });
      if (!status.is_ok()) return std::move(status).with_context(operation.describe());
    }
    height = most;
    return ok_status();
  }

  static Status check_depth(int depth) {
    if (depth < kMaxDepth) return ok_status();
    return invalid_argument("subgraphs nest deeper than {}", kMaxDepth);
  }

  /// Control flow runs a subgraph from one place only. Bodies of fused operations may be shared.
  Status check_callers(const Operation& operation) {
    Status status;
    const SubgraphId body = operation.body ? operation.body->subgraph : SubgraphId();
    for_each_subgraph(operation, [&](SubgraphId inner) {
      const bool exists = inner.is_valid() && inner.index() < graph_.num_subgraphs();
      if (inner == body || !exists || !status.is_ok()) return;
      if (inner.index() == 0) status = invalid_argument("runs the main subgraph");
      if (has_caller_[inner.index()]) {
        status = invalid_argument("subgraph {} is run by another operation too", inner.value());
      }
      has_caller_[inner.index()] = true;
    });
    return status;
  }

  const Graph& graph_;
  std::vector<int> heights_;  // or kNew, kOpen
  std::vector<bool> has_caller_;
};

Status verify_signature(const Subgraph& main) {
  for (const auto* list : {&main.inputs, &main.outputs}) {
    for (const OperandId id : *list) {
      if (main.operand(id).type.kind() == Type::Kind::kUnknown) {
        return invalid_argument("{} has no type", describe(main, id));
      }
    }
  }
  return ok_status();
}

}  // namespace

Status verify_constant(const Constant& constant) {
  const Type& type = constant.type;
  if (!type.is_tensor() || type.element() == ElementType::kUndefined || !type.is_static()) {
    return invalid_argument("a constant cannot have type {}", type.to_string());
  }
  if (type.element() == ElementType::kString) {
    const auto count = num_elements(*type.shape());
    if (!count) return invalid_argument("{} has too many elements", type.to_string());
    return verify_string_offsets(constant, *count);
  }
  const auto wanted = storage_bytes(type);
  if (!wanted) return invalid_argument("{} is too large", type.to_string());
  if (*wanted == static_cast<std::int64_t>(constant.data.size())) return ok_status();
  return invalid_argument("{} needs {} bytes, has {}", type.to_string(), *wanted,
                          constant.data.size());
}

Status verify(const Graph& graph) {
  SLUICE_TRY(NestingVerifier(graph).run());
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    const Subgraph& subgraph = graph.subgraph(SubgraphId(i));
    SLUICE_TRY(SubgraphVerifier(graph, subgraph)
                   .run()
                   .with_context(fmt::format("subgraph {} \"{}\"", i, subgraph.name)));
  }
  return verify_signature(graph.main());
}

}  // namespace sluice::ir
