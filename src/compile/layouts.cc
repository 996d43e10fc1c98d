#include "compile/layouts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compile/blocked_constant.h"
#include "ops/control/structure.h"
#include "ops/schema.h"

namespace sluice::compile {
namespace {

constexpr ir::Layout kRowMajor = ir::Layout::kRowMajor;

bool is_image(const ir::Type& type) {
  return type.is_tensor() && type.shape() != nullptr && type.shape()->size() >= 3 &&
         (type.element() == ir::ElementType::kF32 || type.element() == ir::ElementType::kU8);
}

/// One way to run an operation: layouts of its inputs, then body inputs; and of its outputs.
struct Candidate {
  std::vector<ir::Layout> inputs;
  ir::Layout outputs = kRowMajor;
};

class LayoutChooser {
 public:
  LayoutChooser(ir::Graph& graph, ir::Subgraph& subgraph, const Placement& placement)
      : graph_(graph), subgraph_(subgraph), placement_(placement) {}

  Result<int> run() {
    const std::vector<ir::OperationId> order(subgraph_.order().begin(), subgraph_.order().end());
    for (const ir::OperationId id : order) SLUICE_TRY(visit(id));
    restore_outputs();
    return num_changed_;
  }

 private:
  /// Greedy, in order of execution: the layouts of the operands are final when an operation is
  /// visited.
  Status visit(ir::OperationId id) {
    const ir::Operation& operation = subgraph_.operation(id);
    for (const Candidate& candidate : SLUICE_TRY(candidates(operation))) {
      if (!SLUICE_TRY(is_supported(operation, candidate))) continue;
      ++num_changed_;
      apply(id, candidate);
      return ok_status();
    }
    apply(id, {std::vector<ir::Layout>(operation.reads().size(), kRowMajor), kRowMajor});
    return ok_status();
  }

  const backend::Backend& backend_at(std::int16_t index) const {
    return *placement_.backends()[static_cast<std::size_t>(index)];
  }

  const ir::Type& type_of(ir::OperandId id) const { return subgraph_.operand(id).type; }

  bool is_blocked(ir::OperandId id) const {
    return id.is_valid() && type_of(id).is_tensor() && type_of(id).layout() != kRowMajor;
  }

  /// Layouts other than row-major to offer to the backend, best first.
  Result<std::vector<Candidate>> candidates(const ir::Operation& operation) const {
    std::vector<Candidate> found;
    if (operation.outputs.empty() || !operation.output(0).is_valid()) return found;
    if (!is_image(type_of(operation.output(0)))) return found;
    const std::vector<ir::OperandId> operands = operation.reads();
    const bool arrives_blocked =
        std::any_of(operands.begin(), operands.end(), [&](auto id) { return is_blocked(id); });
    const ir::Layout preferred = SLUICE_TRY(preferred_layout(operation));
    if (preferred == kRowMajor && !arrives_blocked) return found;
    // The only blocked layout so far: what arrives blocked is blocked by 16 channels.
    const ir::Layout layout = preferred == kRowMajor ? ir::Layout::kC16 : preferred;
    Candidate all = {std::vector<ir::Layout>(operands.size(), kRowMajor), layout};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (may_be_blocked(operation, operands[i], i)) all.inputs[i] = layout;
    }
    Candidate enters = all;  // reads a row-major first input, writes blocks
    enters.inputs[0] = kRowMajor;
    // An image of few channels (RGB) would be padded to a whole block of 16, so it is read
    // row-major.
    const bool is_thin = !is_blocked(operands[0]) && has_few_channels(operands[0]);
    if (preferred != kRowMajor && is_thin) found.push_back(enters);
    found.push_back(std::move(all));
    if (preferred != kRowMajor && !is_thin) found.push_back(std::move(enters));
    return found;
  }

  bool has_few_channels(ir::OperandId id) const {
    if (!id.is_valid() || !is_image(type_of(id))) return false;  // the condition of an If, say
    const ir::Dim& channels = (*type_of(id).shape())[1];
    return channels.is_known() && channels.value() < 16;
  }

  bool may_be_blocked(const ir::Operation& operation, ir::OperandId id, std::size_t index) const {
    if (!id.is_valid()) return false;
    const ir::Shape& result = *type_of(operation.output(0)).shape();
    const bool is_elementwise =
        index >= operation.inputs.size() ||
        ops::find_schema(operation.domain, operation.kind)->has(ops::kElementwise);
    if (const ir::Constant* constant = subgraph_.find_constant(id)) {
      return is_elementwise && can_block_channels(*constant, result.size());
    }
    return is_image(type_of(id)) && type_of(id).shape()->size() == result.size();
  }

  Result<backend::Op> row_major(const ir::Operation& operation) const {
    return backend::Op::create({graph_, subgraph_, operation, [&](ir::OperandId id) {
                                  return type_of(id).with_layout(kRowMajor);
                                }});
  }

  Result<ir::Layout> preferred_layout(const ir::Operation& operation) const {
    const auto op = row_major(operation);
    if (!op.is_ok()) return kRowMajor;
    for (const std::int16_t index : placement_.candidates(graph_, operation)) {
      const auto support = SLUICE_TRY(backend_at(index).query(*op));
      if (support.is_supported) return support.preferred_layout;
    }
    return kRowMajor;
  }

  /// By the first backend that takes the operation in some form: a layout moves no operation behind
  /// the backend that the user named first.
  Result<bool> is_supported(const ir::Operation& operation, const Candidate& candidate) const {
    const std::vector<ir::OperandId> operands = operation.reads();
    const auto laid_out = [&](ir::OperandId id) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i] == id) return input_type(operation, id, candidate.inputs[i]);
      }
      return type_of(id).with_layout(is_image(type_of(id)) ? candidate.outputs : kRowMajor);
    };
    const auto op = backend::Op::create({graph_, subgraph_, operation, laid_out});
    if (!op.is_ok()) return false;
    for (const std::int16_t index : placement_.candidates(graph_, operation)) {
      if (SLUICE_TRY(backend_at(index).query(*op)).is_supported) return true;
      const auto plain = row_major(operation);
      if (plain.is_ok() && SLUICE_TRY(backend_at(index).query(*plain)).is_supported) return false;
    }
    return false;
  }

  ir::Type input_type(const ir::Operation& operation, ir::OperandId id, ir::Layout layout) const {
    const ir::Constant* constant = subgraph_.find_constant(id);
    if (constant == nullptr || layout == kRowMajor) return type_of(id).with_layout(layout);
    return blocked_type(*constant, type_of(operation.output(0)).shape()->size());
  }

  void apply(ir::OperationId id, const Candidate& candidate) {
    ir::Operation operation = subgraph_.operation(id);
    const std::size_t rank =
        candidate.outputs == kRowMajor ? 0 : type_of(operation.output(0)).shape()->size();
    const auto lay_out = [&](ir::OperandId& operand, ir::Layout layout) {
      if (!operand.is_valid()) return;
      operand = subgraph_.is_constant(operand) && layout != kRowMajor
                    ? blocked_copy(operand, rank)
                    : in_layout(operand, layout, id);
    };
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      lay_out(operation.inputs[i], candidate.inputs[i]);
    }
    if (operation.body) {
      for (std::size_t i = 0; i < operation.body->inputs.size(); ++i) {
        lay_out(operation.body->inputs[i], candidate.inputs[operation.inputs.size() + i]);
      }
    }
    for (const ir::OperandId output : operation.outputs) {
      if (!output.is_valid() || !is_image(type_of(output))) continue;
      subgraph_.operand(output).type = type_of(output).with_layout(candidate.outputs);
    }
    subgraph_.operation(id) = std::move(operation);
  }

  /// The same elements in `layout`: the operand itself, one reordered before, or a new one that is
  /// made just before `position`, or at the end.
  ir::OperandId in_layout(ir::OperandId operand, ir::Layout layout,
                          std::optional<ir::OperationId> position) {
    if (!type_of(operand).is_tensor() || type_of(operand).layout() == layout) return operand;
    const auto [it, is_new] = reordered_.emplace(std::pair(operand, layout), ir::OperandId());
    if (!is_new) return it->second;
    const ir::Operand& source = subgraph_.operand(operand);
    const std::string name =
        source.name.empty() ? "" : fmt::format("{}@{}", source.name, ir::layout_name(layout));
    it->second = subgraph_.add_operand({name, source.type.with_layout(layout), {}});
    ir::Operation reorder;
    reorder.domain = "sluice";
    reorder.kind = "Reorder";
    reorder.inputs = {operand};
    reorder.outputs = {it->second};
    reorder.attributes.set("layout", std::string(ir::layout_name(layout)));
    if (position) {
      subgraph_.insert_operation(*position, std::move(reorder));
    } else {
      subgraph_.add_operation(std::move(reorder));
    }
    return it->second;
  }

  /// Outputs of the graph are row-major and keep their names.
  void restore_outputs() {
    std::map<ir::OperandId, ir::OperandId> restored;
    for (ir::OperandId& output : subgraph_.outputs) {
      const auto [it, is_new] = restored.emplace(output, output);
      if (is_new && is_blocked(output)) {
        it->second = in_layout(output, kRowMajor, std::nullopt);
        ir::Operand& blocked = subgraph_.operand(output);
        subgraph_.operand(it->second).name = blocked.name;
        blocked.name += fmt::format("@{}", ir::layout_name(blocked.type.layout()));
      }
      output = it->second;
    }
  }

  ir::OperandId blocked_copy(ir::OperandId operand, std::size_t rank) {
    const auto [it, is_new] = blocked_constants_.emplace(std::pair(operand, rank), ir::OperandId());
    if (is_new) {
      it->second =
          subgraph_.add_constant("", block_channels(*subgraph_.find_constant(operand), rank));
    }
    return it->second;
  }

  ir::Graph& graph_;
  ir::Subgraph& subgraph_;
  const Placement& placement_;
  std::map<std::pair<ir::OperandId, ir::Layout>, ir::OperandId> reordered_;
  std::map<std::pair<ir::OperandId, std::size_t>, ir::OperandId> blocked_constants_;
  int num_changed_ = 0;
};

}  // namespace

Result<int> choose_layouts(ir::Graph& graph, const Placement& placement) {
  int num_changed = 0;
  for (const ir::SubgraphId id : ops::runnable_subgraphs(graph)) {
    num_changed += SLUICE_TRY(LayoutChooser(graph, graph.subgraph(id), placement).run());
  }
  return num_changed;
}

}  // namespace sluice::compile
