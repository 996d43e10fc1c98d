#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "ir/broadcast_dim.h"
#include "passes/fuse/body_builder.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

constexpr std::size_t kMaxSteps = 24;

/// Operations in the order in which they joined. The first is the root, whose result is the group's
/// result. Producers join after their readers, so dropping operations from the end leaves a valid
/// group.
using Group = std::vector<ir::OperationId>;

class ElementwiseFuser {
 public:
  ElementwiseFuser(ir::Graph& graph, ir::SubgraphId id, const PassContext& context)
      : graph_(graph),
        id_(id),
        context_(context),
        scratch_(graph.add_subgraph("body")),
        uses_(subgraph()),
        order_(subgraph().order().begin(), subgraph().order().end()) {
    const auto last = std::max_element(order_.begin(), order_.end());
    const std::size_t num_ids = last == order_.end() ? 0 : last->index() + 1;
    positions_.resize(num_ids);
    for (std::size_t i = 0; i < order_.size(); ++i) positions_[order_[i].index()] = i;
    is_gone_.resize(num_ids, false);
    is_fusable_.resize(num_ids);
  }

  int run() {
    int num_fused = 0;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (!is_gone_[it->index()] && is_fusable(*it) && fuse(grow(*it))) ++num_fused;
    }
    std::vector<ir::OperationId> kept;
    for (const ir::OperationId id : order_) {
      if (!is_gone_[id.index()]) kept.push_back(id);
    }
    subgraph().set_order(std::move(kept));
    return num_fused;
  }

 private:
  ir::Subgraph& subgraph() { return graph_.subgraph(id_); }
  const ir::Operation& operation(ir::OperationId id) { return subgraph().operation(id); }
  ir::OperandId result_of(ir::OperationId id) { return operation(id).outputs[0]; }

  bool is_fusable(ir::OperationId id) {
    std::optional<bool>& known = is_fusable_[id.index()];
    if (known) return *known;
    const ir::Operation& op = operation(id);
    const bool is_plain = op.domain.empty() && !op.body && op.outputs.size() == 1 &&
                          op.output(0).is_valid() && has_trait(op, ops::kElementwise);
    known = is_plain && has_shape(op.output(0)) && !may_size_a_tensor(op.output(0)) &&
            try_fuse({id}, std::nullopt).has_value();
    return *known;
  }

  bool has_shape(ir::OperandId id) {
    const ir::Type& type = subgraph().operand(id).type;
    return type.is_tensor() && type.shape() != nullptr;
  }

  /// Shape arithmetic is not fused: shape functions must see its values.
  bool may_size_a_tensor(ir::OperandId id) {
    const ir::Type& type = subgraph().operand(id).type;
    return !ir::is_floating_point(type.element()) && type.shape()->size() <= 1;
  }

  bool same_element(ir::OperandId a, ir::OperandId b) {
    return subgraph().operand(a).type.element() == subgraph().operand(b).type.element();
  }

  bool same_shape(ir::OperandId a, ir::OperandId b) {
    return has_shape(a) && has_shape(b) &&
           *subgraph().operand(a).type.shape() == *subgraph().operand(b).type.shape();
  }

  /// Whether a body of that carrier may read `input`: the carrier's result cannot be stretched.
  bool broadcasts_into(ir::OperandId input, ir::OperandId carried) {
    if (!has_shape(input)) return false;
    const ir::Shape& part = *subgraph().operand(input).type.shape();
    const ir::Shape& whole = *subgraph().operand(carried).type.shape();
    return part.size() <= whole.size() &&
           std::equal(part.rbegin(), part.rend(), whole.rbegin(), ir::broadcasts_into);
  }

  /// Whether the result can disappear into the group.
  bool is_read_only_by(ir::OperandId result, const Group& group) {
    const auto readers = uses_.readers(result);
    return !uses_.is_output(result) &&
           std::all_of(readers.begin(), readers.end(), [&](ir::OperationId reader) {
             return std::find(group.begin(), group.end(), reader) != group.end();
           });
  }

  /// Producers of the group's outside operands, except those that are already fused elsewhere.
  std::set<ir::OperationId> producers(const Group& group) {
    std::set<ir::OperationId> found;
    for (const ir::OperationId member : group) {
      for (const ir::OperandId input : operation(member).inputs) {
        if (!input.is_valid()) continue;
        const ir::OperationId producer = uses_.producer(input);
        if (!producer.is_valid() || is_gone_[producer.index()]) continue;
        if (std::find(group.begin(), group.end(), producer) == group.end()) found.insert(producer);
      }
    }
    return found;
  }

  Group grow(ir::OperationId root) {
    Group group = {root};
    for (bool has_grown = true; has_grown && group.size() < kMaxSteps;) {
      has_grown = false;
      for (const ir::OperationId producer : producers(group)) {
        if (group.size() >= kMaxSteps || !is_fusable(producer) ||
            !same_shape(result_of(producer), result_of(root)) ||
            !is_read_only_by(result_of(producer), group)) {
          continue;
        }
        group.push_back(producer);
        has_grown = true;
      }
    }
    return group;
  }

  bool can_carry(ir::OperationId id, const Group& group) {
    const ir::Operation& op = operation(id);
    const auto is_nested = [](const auto& entry) {
      return std::holds_alternative<ir::SubgraphId>(entry.second) ||
             std::holds_alternative<std::vector<ir::SubgraphId>>(entry.second);
    };
    return !op.body && op.outputs.size() == 1 && !has_trait(op, ops::kView) &&
           !has_trait(op, ops::kControlFlow) && !has_trait(op, ops::kDataDependentShape) &&
           std::none_of(op.attributes.begin(), op.attributes.end(), is_nested) &&
           same_shape(result_of(id), result_of(group.front())) &&
           same_element(result_of(id), result_of(group.front())) &&  // they share memory
           is_read_only_by(result_of(id), group);
  }

  /// Latest first: the fused operation runs at the root's place, and a later producer moves less
  /// far.
  std::vector<ir::OperationId> carriers(const Group& group) {
    std::vector<ir::OperationId> found;
    for (const ir::OperationId producer : producers(group)) {
      if (!is_fusable(producer) && can_carry(producer, group)) found.push_back(producer);
    }
    std::sort(found.begin(), found.end(), [&](ir::OperationId a, ir::OperationId b) {
      return positions_[a.index()] > positions_[b.index()];
    });
    return found;
  }

  /// The fused operation, its program in `scratch_`; nullopt if no backend takes it.
  std::optional<ir::Operation> try_fuse(Group group, std::optional<ir::OperationId> carrier) {
    const ir::OperationId root = group.front();
    std::sort(group.begin(), group.end(), [&](ir::OperationId a, ir::OperationId b) {
      return positions_[a.index()] < positions_[b.index()];
    });
    ir::Operation fused;
    if (carrier) {
      fused = operation(*carrier);
    } else {
      fused.domain = "sluice";
      fused.kind = "Elementwise";
      fused.name = operation(root).name;
    }
    fused.outputs = operation(root).outputs;
    BodyParts body = build_body(subgraph(), group, carrier ? result_of(*carrier) : ir::OperandId());
    const auto fits = [&](ir::OperandId input) {
      return broadcasts_into(input, result_of(*carrier));
    };
    if (carrier && !std::ranges::all_of(body.inputs, fits)) return std::nullopt;
    graph_.subgraph(scratch_) = std::move(body.program);
    fused.body = ir::Body{scratch_, std::move(body.inputs)};
    if (!context_.is_accepted(graph_, subgraph(), fused)) return std::nullopt;
    return fused;
  }

  bool fuse(const Group& whole) {
    for (Group group = whole; !group.empty(); group.pop_back()) {
      for (const ir::OperationId carrier : carriers(group)) {
        if (auto fused = try_fuse(group, carrier)) {
          is_gone_[carrier.index()] = true;
          place(group, std::move(*fused));
          return true;
        }
      }
    }
    for (Group group = whole; group.size() > 1; group.pop_back()) {
      if (auto fused = try_fuse(group, std::nullopt)) {
        place(group, std::move(*fused));
        return true;
      }
    }
    return false;
  }

  /// Placed where the root was: all operands that the group reads are computed there.
  void place(const Group& group, ir::Operation fused) {
    for (const ir::OperationId member : group) is_gone_[member.index()] = true;
    is_gone_[group.front().index()] = false;
    subgraph().operation(group.front()) = std::move(fused);
    scratch_ = graph_.add_subgraph("body");
  }

  ir::Graph& graph_;
  ir::SubgraphId id_;
  const PassContext& context_;
  ir::SubgraphId scratch_;
  ir::UseIndex uses_;
  std::vector<ir::OperationId> order_;
  std::vector<std::size_t> positions_;  // in order_, by operation
  std::vector<bool> is_gone_;           // by operation
  std::vector<std::optional<bool>> is_fusable_;
};

}  // namespace

Result<int> fuse_elementwise(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    return ElementwiseFuser(graph, id, context).run();
  });
}

}  // namespace sluice::passes
