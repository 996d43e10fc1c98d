#include <algorithm>
#include <optional>

#include "ops/inference.h"
#include "passes/fuse/attention_match.h"
#include "passes/rewriter.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

constexpr std::size_t kKeep = 6;  ///< input of sluice::Attention

/// Inserts the operations that feed the attention, and builds the attention.
class Builder {
 public:
  Builder(Rewriter& rewriter, ir::OperationId at)
      : rewriter_(rewriter), subgraph_(rewriter.subgraph()), at_(at) {}

  ir::Operation build(const AttentionParts& found) {
    const ir::Operation& root = subgraph_.operation(at_);
    ir::Operation attention;
    attention.domain = "sluice";
    attention.kind = "Attention";
    attention.name = root.name;
    attention.outputs = root.outputs;
    attention.attributes.set("scale", static_cast<float>(found.scale));
    attention.attributes.set("is_causal", std::int64_t{0});
    attention.attributes.set("hidden", found.hidden.value_or(0.0F));
    // Zeros are the guard's alone: without it a softmax that has no value is NaN.
    attention.attributes.set("zero_rows", std::int64_t{found.zeroes_nan ? 2 : 0});
    const ir::OperandId key = add_key(found);
    const Masks masks = add_masks(found);
    attention.inputs = {with_heads(found, found.q), with_heads(found, key),
                        with_heads(found, found.v)};
    if (masks.added.is_valid()) attention.inputs.push_back(with_heads(found, masks.added));
    if (masks.keep.is_valid()) {
      attention.inputs.resize(kKeep);
      attention.inputs.push_back(with_heads(found, masks.keep));
    }
    if (has_one_head(found)) {
      const ir::Type& type = subgraph_.operand(attention.outputs[0]).type;
      attention.outputs[0] = add_operand(subgraph_, with_axis(type));
    }
    return attention;
  }

  /// What takes the place of the root behind an attention of one head: its result without the axis.
  ir::Operation drop_heads(const ir::Operation& attention) {
    return make_operation(subgraph_, "Squeeze", {attention.outputs[0], axis_constant(1)},
                          subgraph_.operation(at_).outputs[0]);
  }

  static bool has_one_head(const AttentionParts& found) { return found.key_perm.size() == 3; }

 private:
  ir::OperandId add_key(const AttentionParts& found) {
    if (is_ascending(found.key_perm)) return found.key_source;
    const ir::Type& type = subgraph_.operand(found.key_source).type;
    ir::Shape shape;
    for (const std::int64_t axis : found.key_perm) {
      shape.push_back((*type.shape())[static_cast<std::size_t>(axis)]);
    }
    const ir::OperandId key = add_operand(subgraph_, type.with_shape(std::move(shape)));
    insert(make_operation(subgraph_, "Transpose", {found.key_source}, key,
                          {{"perm", found.key_perm}}));
    return key;
  }

  /// What sluice::Attention adds to scores, and which of them it keeps: each may be invalid.
  struct Masks {
    ir::OperandId added, keep;
  };

  /// Numbers that were added to scores before a mask replaced these go where it did.
  Masks add_masks(const AttentionParts& found) {
    Masks masks;
    for (auto part = found.masks.rbegin(); part != found.masks.rend(); ++part) {
      if (!part->replaces) {
        const ir::OperandId own = added_mask(*part);
        masks.added = masks.added.is_valid() ? insert_binary("Add", masks.added, own) : own;
        continue;
      }
      const ir::OperandId kept = kept_scores(*part);
      masks.keep = masks.keep.is_valid() ? insert_binary("And", masks.keep, kept) : kept;
      if (masks.added.is_valid()) masks.added = added_where(kept, masks.added);
    }
    return masks;
  }

  ir::OperandId added_mask(const AttentionMask& part) {
    const ir::Type type = subgraph_.operand(part.operand).type;
    if (!part.drops_first_axis || type.shape()->size() < 5) return part.operand;
    const ir::Shape rest(type.shape()->begin() + 1, type.shape()->end());
    const ir::OperandId mask = add_operand(subgraph_, type.with_shape(rest));
    insert(make_operation(subgraph_, "Squeeze", {part.operand, axis_constant(0)}, mask));
    return mask;
  }

  /// Bools: true where the score stays.
  ir::OperandId kept_scores(const AttentionMask& part) {
    if (!part.is_hidden_if) return part.operand;
    const ir::OperandId kept = add_operand(subgraph_, subgraph_.operand(part.operand).type);
    insert(make_operation(subgraph_, "Not", {part.operand}, kept));
    return kept;
  }

  /// `added` where `kept`, else 0.
  ir::OperandId added_where(ir::OperandId kept, ir::OperandId added) {
    const ir::ElementType element = subgraph_.operand(added).type.element();
    std::vector<std::byte> zeros(element == ir::ElementType::kF32 ? 4 : 2);  // f16, bf16: +0
    const ir::OperandId zero = subgraph_.add_constant(
        "", {ir::Type::tensor(element, ir::Shape()), Bytes::own(std::move(zeros))});
    const ir::OperandId both = add_operand(subgraph_, broadcast_type(added, kept));
    insert(make_operation(subgraph_, "Where", {kept, added, zero}, both));
    return both;
  }

  ir::OperandId insert_binary(std::string_view kind, ir::OperandId a, ir::OperandId b) {
    const ir::OperandId result = add_operand(subgraph_, broadcast_type(a, b));
    insert(make_operation(subgraph_, kind, {a, b}, result));
    return result;
  }

  /// The type of `a` in the shape of both.
  ir::Type broadcast_type(ir::OperandId a, ir::OperandId b) const {
    const ir::Type& type = subgraph_.operand(a).type;
    const auto shape = ops::broadcast_shapes(*type.shape(), *subgraph_.operand(b).type.shape());
    return shape.is_ok() ? type.with_shape(*shape) : type;
  }

  /// [B, T, D] as [B, 1, T, D]; masks likewise if they have an axis for B.
  ir::OperandId with_heads(const AttentionParts& found, ir::OperandId id) {
    const ir::Type type = subgraph_.operand(id).type;
    if (!has_one_head(found) || type.shape()->size() < 3) return id;
    const ir::OperandId wide = add_operand(subgraph_, with_axis(type));
    insert(make_operation(subgraph_, "Unsqueeze", {id, axis_constant(1)}, wide));
    return wide;
  }

  static ir::Type with_axis(const ir::Type& type) {
    ir::Shape shape = *type.shape();
    shape.insert(shape.begin() + 1, ir::Dim(1));
    return type.with_shape(std::move(shape));
  }

  ir::OperandId axis_constant(std::int64_t axis) {
    return subgraph_.add_constant("", ir::make_i64_constant({axis}, {1}));
  }

  void insert(ir::Operation operation) { rewriter_.insert(at_, std::move(operation)); }

  Rewriter& rewriter_;
  ir::Subgraph& subgraph_;
  ir::OperationId at_;
};

/// Past and new keys or values, concatenated along the sequence for the attention alone.
struct Joined {
  ir::OperationId concat;
  ir::OperandId past, added;
  ir::OperandId whole_if_output;  ///< invalid if nothing but the attention reads the whole
};

/// Follows the only reader of each value from `whole` to the end of the attention.
bool leads_only_to(const Matcher& matcher, ir::OperandId whole, ir::OperationId root) {
  for (ir::OperandId id = whole;;) {
    const auto readers = matcher.uses().readers(id);
    if (readers.size() != 1 || (id != whole && matcher.uses().is_output(id))) return false;
    if (readers.front() == root) return true;
    const ir::Operation& reader = matcher.subgraph().operation(readers.front());
    if (reader.outputs.size() != 1) return false;
    id = reader.outputs[0];
  }
}

std::optional<Joined> find_joined(const Matcher& matcher, ir::OperandId whole,
                                  ir::OperationId root) {
  const ir::Operation* concat = matcher.find(whole, "Concat");
  const std::int64_t axis = concat ? concat->attributes.get_or("axis", std::int64_t{0}) : 0;
  if (concat == nullptr || concat->inputs.size() != 2 || (axis != 2 && axis != -2) ||
      !leads_only_to(matcher, whole, root)) {
    return std::nullopt;
  }
  return Joined{matcher.uses().producer(whole), concat->inputs[0], concat->inputs[1],
                matcher.uses().is_output(whole) ? whole : ir::OperandId()};
}

/// The attention that concatenates past and new keys itself, and returns the whole if the graph
/// does.
ir::Operation with_past(const ir::Operation& attention, const Joined& keys, const Joined& values) {
  ir::Operation joined = attention;
  joined.inputs.resize(std::max<std::size_t>(attention.inputs.size(), kKeep));
  joined.inputs[1] = keys.added;
  joined.inputs[2] = values.added;
  joined.inputs[4] = keys.past;
  joined.inputs[5] = values.past;
  joined.outputs.push_back(keys.whole_if_output);
  joined.outputs.push_back(values.whole_if_output);
  while (!joined.outputs.back().is_valid()) joined.outputs.pop_back();
  return joined;
}

/// Replaces the product at `at` by an attention if it ends one; returns whether it did.
bool fuse(const ir::Graph& graph, Rewriter& rewriter, ir::OperationId at,
          const PassContext& context) {
  const ir::Subgraph& subgraph = rewriter.subgraph();
  const Matcher& matcher = rewriter.matcher();
  const auto parts = match_attention(matcher, subgraph.operation(at));
  if (!parts) return false;
  std::optional<Joined> keys;
  if (is_ascending(parts->key_perm) && !Builder::has_one_head(*parts)) {
    keys = find_joined(matcher, parts->key_source, at);
  }
  const auto values = find_joined(matcher, parts->v, at);
  Builder builder(rewriter, at);
  ir::Operation attention = builder.build(*parts);
  if (keys && values) {
    ir::Operation joined = with_past(attention, *keys, *values);
    if (context.is_accepted(graph, subgraph, joined)) {
      rewriter.remove(keys->concat);
      if (values->concat != keys->concat) rewriter.remove(values->concat);
      rewriter.replace(at, std::move(joined));
      return true;
    }
  }
  if (!context.is_accepted(graph, subgraph, attention)) return false;
  if (Builder::has_one_head(*parts)) {
    ir::Operation narrow = builder.drop_heads(attention);
    rewriter.insert(at, std::move(attention));
    attention = std::move(narrow);
  }
  rewriter.replace(at, std::move(attention));
  return true;
}

Result<int> fuse_attentions(ir::Graph& graph, ir::SubgraphId id, const PassContext& context) {
  const auto given = graph.subgraph(id).order();
  const std::vector<ir::OperationId> order(given.begin(), given.end());
  Rewriter rewriter(graph.subgraph(id));
  int num_found = 0;
  for (const ir::OperationId at : order) {
    const ir::Operation& root = graph.subgraph(id).operation(at);
    if (!root.is("MatMul") || root.body || !fuse(graph, rewriter, at, context)) continue;
    rewriter.sweep();  // removes readers of the keys that would now precede them
    ++num_found;
  }
  return num_found;
}

}  // namespace

Result<int> fuse_attention(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(graph,
                           [&](ir::SubgraphId id) { return fuse_attentions(graph, id, context); });
}

}  // namespace sluice::passes
