#include <array>
#include <optional>
#include <vector>

#include "passes/rewriter.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

constexpr std::array kQueryKeyValue = {0, 1, 2};

bool swaps_heads(const ir::Operation& transpose) {
  const auto* perm = transpose.attributes.find<std::vector<std::int64_t>>("perm");
  return transpose.is("Transpose") && !transpose.body && perm != nullptr &&
         *perm == std::vector<std::int64_t>{0, 2, 1, 3};
}

/// [B, L, H, D] as [B, L, H * D]; nullopt where H or D is unknown.
std::optional<ir::Type> packed_type(const ir::Type& type) {
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  if (shape == nullptr || shape->size() != 4) return std::nullopt;
  const ir::Dim& heads = (*shape)[2];
  const ir::Dim& size = (*shape)[3];
  if (!heads.is_known() || !size.is_known() || heads.value() < 1 || size.value() < 1) {
    return std::nullopt;
  }
  return type.with_shape(ir::Shape{(*shape)[0], (*shape)[1], heads.value() * size.value()});
}

/// One attention, its packed form, and the reshapes around that.
class Packing {
 public:
  Packing(Rewriter& rewriter, ir::OperationId at)
      : rewriter_(rewriter), subgraph_(rewriter.subgraph()), at_(at) {}

  /// False if nothing can be packed.
  bool build() {
    packed_ = subgraph_.operation(at_);
    bool is_packed = false;
    for (const int input : kQueryKeyValue) is_packed = pack_input(input) || is_packed;
    return pack_result() || is_packed;
  }

  const ir::Operation& packed() const { return packed_; }

  void apply() {
    for (ir::Operation& reshape : before_) rewriter_.insert(at_, std::move(reshape));
    rewriter_.replace(at_, std::move(packed_));
    if (behind_) rewriter_.replace(turn_, std::move(*behind_));
  }

 private:
  ir::Operation reshape(ir::OperandId from, ir::OperandId to,
                        const std::vector<std::int64_t>& target) {
    const auto rank = static_cast<std::int64_t>(target.size());
    const ir::OperandId shape = subgraph_.add_constant("", ir::make_i64_constant(target, {rank}));
    return make_operation(subgraph_, "Reshape", {from, shape}, to);
  }

  bool pack_input(int input) {
    ir::OperandId& own = packed_.inputs[static_cast<std::size_t>(input)];
    const ir::Operation* turn = rewriter_.matcher().find(own, "Transpose");
    if (turn == nullptr || !swaps_heads(*turn)) return false;
    const ir::OperandId source = turn->inputs[0];
    const auto type = packed_type(subgraph_.operand(source).type);
    if (!type) return false;
    const std::int64_t heads = (*subgraph_.operand(source).type.shape())[2].value();
    packed_.attributes.set(input == 0 ? "q_num_heads" : "kv_num_heads", heads);
    const ir::Operation* split = rewriter_.matcher().find(source, "Reshape");
    if (split != nullptr && subgraph_.operand(split->inputs[0]).type == *type) {
      own = split->inputs[0];
      return true;
    }
    own = add_operand(subgraph_, *type);
    // A dimension 0 stays as it is.
    before_.push_back(reshape(source, own, {0, 0, (*type->shape())[2].value()}));
    return true;
  }

  bool pack_result() {
    const ir::UseIndex& uses = rewriter_.matcher().uses();
    const ir::OperandId y = packed_.outputs[0];
    const auto readers = uses.readers(y);
    if (readers.size() != 1 || uses.is_output(y)) return false;
    turn_ = readers.front();
    const ir::Operation& turn = subgraph_.operation(turn_);
    if (!swaps_heads(turn)) return false;
    const ir::Type type = subgraph_.operand(turn.outputs[0]).type;
    const auto packed = packed_type(type);
    if (!packed) return false;
    packed_.attributes.set("packed_result", std::int64_t{1});
    packed_.outputs[0] = add_operand(subgraph_, *packed);
    behind_ = reshape(packed_.outputs[0], subgraph_.operation(turn_).outputs[0],
                      {0, 0, (*type.shape())[2].value(), (*type.shape())[3].value()});
    behind_->name = subgraph_.operation(turn_).name;
    return true;
  }

  Rewriter& rewriter_;
  ir::Subgraph& subgraph_;
  ir::OperationId at_;
  ir::OperationId turn_;  ///< of the result
  ir::Operation packed_;
  std::vector<ir::Operation> before_;
  std::optional<ir::Operation> behind_;
};

Result<int> pack_all(ir::Graph& graph, ir::SubgraphId id, const PassContext& context) {
  const auto given = graph.subgraph(id).order();
  const std::vector<ir::OperationId> order(given.begin(), given.end());
  Rewriter rewriter(graph.subgraph(id));
  int num_packed = 0;
  for (const ir::OperationId at : order) {
    const ir::Operation& operation = graph.subgraph(id).operation(at);
    if (operation.domain != "sluice" || operation.kind != "Attention") continue;
    Packing packing(rewriter, at);
    if (!packing.build() ||
        !context.taker_has_kernel(graph, graph.subgraph(id), packing.packed())) {
      continue;
    }
    packing.apply();
    ++num_packed;
  }
  if (num_packed > 0) rewriter.sweep();
  return num_packed;
}

}  // namespace

Result<int> pack_heads(ir::Graph& graph, const PassContext& context) {
  if (!context.taker_has_kernel) return 0;
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) { return pack_all(graph, id, context); });
}

}  // namespace sluice::passes
