#include "recipes/parts/decoder.h"

#include <limits>
#include <string>
#include <utility>

#include "recipes/parts/builder.h"
#include "recipes/parts/rotation.h"

namespace sluice::recipes {
namespace {

using ir::ElementType;

constexpr std::int64_t kMost = std::int64_t{1} << 24;

/// Values that all layers read.
struct Positions {
  OperandId cosines;  ///< [S, head size]
  OperandId sines;    ///< negative in the first half
  OperandId mask;     ///< [S, M]: 0 where a token sees a place, else minus infinity
  OperandId places;   ///< [1, key heads, S, 3]: where rows of keys and values are written
};

class Decoder {
 public:
  Decoder(const DecoderShape& shape, const weights::Weights& weights)
      : shape_(shape), build_(weights) {}

  Result<ir::Graph> make() {
    const OperandId ids = build_.input("ids", tensor(ElementType::kI64, {count_}));
    const OperandId positions = build_.input("positions", tensor(ElementType::kI64, {count_}));
    make_states();
    read_positions(positions);
    const OperandId table =
        build_.weight("model.embed_tokens.weight", {shape_.vocabulary, shape_.width});
    OperandId x = build_.cast(build_.op("Gather", {table, ids}), ElementType::kF32);
    for (std::int64_t i = 0; i < shape_.layers; ++i) x = layer(x, static_cast<std::size_t>(i));
    // The others' logits are of no use: they are not computed.
    const OperandId last = build_.op("Gather", {x, build_.ints({-1})});
    const OperandId normed = norm(last, "model.norm.weight", shape_.width);
    build_.output(
        "logits",
        build_.product(normed, shape_.is_tied ? "model.embed_tokens.weight" : "lm_head.weight",
                       shape_.vocabulary, shape_.width));
    for (const State& state : states_) build_.output(state.name + ".next", state.next);
    return build_.finish();
  }

 private:
  struct State {
    std::string name;
    OperandId now, next;
  };
  static ir::Type tensor(ElementType element, ir::Shape shape) {
    return ir::Type::tensor(element, std::move(shape));
  }

  void make_states() {
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      for (const char* kind : {"keys", "values"}) {
        const std::string name = fmt::format("state.{}.{}", kind, i);
        const ir::Shape dims = {1, shape_.key_heads, ir::Dim::symbol("M"), shape_.head_size};
        states_.push_back({name, build_.input(name, tensor(ElementType::kF32, dims)), {}});
      }
    }
  }

  void read_positions(OperandId positions) {
    const OperandId column = build_.op("Unsqueeze", {positions, build_.ints({1})});
    // A pair is a number of the first half of a head and one of the second: with x its numbers and
    // y the same with halves exchanged, x cos + y sin turns them if the first sines are negative.
    std::vector<float> rotation;
    for (const float angle : shape_.rotation) rotation.push_back(-angle);
    rotation.insert(rotation.end(), shape_.rotation.begin(), shape_.rotation.end());
    const OperandId angles = build_.op("Mul", {build_.cast(column, ElementType::kF32),
                                               build_.floats(rotation, {1, shape_.head_size})});
    shared_.cosines = build_.op("Cos", {angles});
    shared_.sines = build_.op("Sin", {angles});
    shared_.mask = mask_of(column);
    shared_.places = places_of(positions);
  }

  OperandId mask_of(OperandId column) {
    const OperandId count = build_.op("Shape", {states_.front().now},
                                      {{"start", std::int64_t{2}}, {"end", std::int64_t{3}}});
    const OperandId places = build_.op(
        "Range", {build_.ints({0}, {}), build_.op("Squeeze", {count}), build_.ints({1}, {})});
    OperandId is_seen = build_.op("LessOrEqual", {places, column});
    if (shape_.window) {
      const OperandId before = build_.op("Sub", {column, build_.ints({*shape_.window}, {})});
      is_seen = build_.op("And", {is_seen, build_.op("Greater", {places, before})});
    }
    const float hidden = -std::numeric_limits<float>::infinity();
    return build_.op("Where", {is_seen, build_.floats({0}, {}), build_.floats({hidden}, {})});
  }

  /// (0, head, position) of each row.
  OperandId places_of(OperandId positions) {
    Builder::Ints heads;
    for (std::int64_t i = 0; i < shape_.key_heads; ++i) heads.insert(heads.end(), {0, i, 0});
    const OperandId apart = build_.op("Unsqueeze", {positions, build_.ints({0, 1, 3})});
    const OperandId along = build_.op("Mul", {apart, build_.ints({0, 0, 1})});
    return build_.op("Add", {along, build_.ints(heads, {1, shape_.key_heads, 1, 3})});
  }

  OperandId norm(OperandId x, const std::string& weight, std::int64_t width) {
    return build_.op("RMSNormalization", {x, build_.wide_weight(weight, {width})},
                     {{"axis", std::int64_t{-1}}, {"epsilon", shape_.epsilon}});
  }

  OperandId linear(OperandId x, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias) {
    const OperandId y = build_.product(x, name + ".weight", out, in);
    if (!has_bias) return y;
    return build_.op("Add", {y, build_.wide_weight(name + ".bias", {out})});
  }

  /// [S, heads * size] as [1, heads, S, size].
  OperandId split(OperandId x, std::int64_t heads) {
    const OperandId apart = build_.op("Reshape", {x, build_.ints({0, heads, shape_.head_size})});
    const OperandId turned = build_.op("Transpose", {apart}, {{"perm", Builder::Ints{1, 0, 2}}});
    return build_.op("Unsqueeze", {turned, build_.ints({0})});
  }

  OperandId joined(OperandId x) {
    const OperandId apart = build_.op("Squeeze", {x, build_.ints({0})});
    const OperandId turned = build_.op("Transpose", {apart}, {{"perm", Builder::Ints{1, 0, 2}}});
    return build_.op("Reshape", {turned, build_.ints({0, shape_.heads * shape_.head_size})});
  }

  OperandId heads_of(OperandId x, const std::string& name, const char* kind, std::int64_t heads) {
    const std::int64_t columns = heads * shape_.head_size;
    const std::string product = fmt::format("{}.{}_proj", name, kind);
    return split(linear(x, product, columns, shape_.width, shape_.has_qkv_bias), heads);
  }

  OperandId turned(OperandId x, const std::string& norm_name) {
    if (shape_.has_head_norms) x = norm(x, norm_name, shape_.head_size);
    const std::int64_t half = shape_.head_size / 2;
    const auto part = [&](std::int64_t begin) {
      return build_.op("Slice",
                       {x, build_.ints({begin}), build_.ints({begin + half}), build_.ints({3})});
    };
    const OperandId exchanged =
        build_.op("Concat", {part(half), part(0)}, {{"axis", std::int64_t{3}}});
    return build_.op("Add", {build_.op("Mul", {x, shared_.cosines}),
                             build_.op("Mul", {exchanged, shared_.sines})});
  }

  OperandId written(std::size_t state, OperandId rows) {
    State& at = states_[state];
    at.next = build_.op("ScatterND", {at.now, shared_.places, rows});
    return at.next;
  }

  OperandId attention(OperandId x, const std::string& name, std::size_t index) {
    const OperandId q = turned(heads_of(x, name, "q", shape_.heads), name + ".q_norm.weight");
    const OperandId k = turned(heads_of(x, name, "k", shape_.key_heads), name + ".k_norm.weight");
    const OperandId v = heads_of(x, name, "v", shape_.key_heads);
    const OperandId keys = written(2 * index, k);
    const OperandId values = written(2 * index + 1, v);
    const OperandId y = build_.op("Attention", {q, keys, values, shared_.mask}, {}, "sluice");
    return linear(joined(y), name + ".o_proj", shape_.width, shape_.heads * shape_.head_size,
                  shape_.has_output_bias);
  }

  OperandId gated(OperandId x, const std::string& name) {
    const auto up = [&](const char* kind) {
      return linear(x, name + kind, shape_.inner_width, shape_.width, shape_.has_inner_bias);
    };
    const OperandId gate = up(".gate_proj");
    const OperandId silu = build_.op("Mul", {gate, build_.op("Sigmoid", {gate})});
    return linear(build_.op("Mul", {silu, up(".up_proj")}), name + ".down_proj", shape_.width,
                  shape_.inner_width, shape_.has_inner_bias);
  }

  OperandId layer(OperandId x, std::size_t index) {
    const std::string name = fmt::format("model.layers.{}", index);
    const OperandId before = norm(x, name + ".input_layernorm.weight", shape_.width);
    x = build_.op("Add", {x, attention(before, name + ".self_attn", index)});
    const OperandId after = norm(x, name + ".post_attention_layernorm.weight", shape_.width);
    return build_.op("Add", {x, gated(after, name + ".mlp")});
  }

  const DecoderShape& shape_;
  Builder build_;
  ir::Dim count_ = ir::Dim::symbol("S");
  std::vector<State> states_;  ///< keys and values of layer 0, of layer 1, ..
  Positions shared_;
};

}  // namespace

DecoderShape read_decoder(Settings& settings) {
  DecoderShape shape;
  shape.vocabulary = settings.whole("vocab_size", 1, kMost);
  shape.width = settings.whole("hidden_size", 1, kMost);
  shape.inner_width = settings.whole("intermediate_size", 1, kMost);
  shape.layers = settings.whole("num_hidden_layers", 1, 1024);
  shape.heads = settings.whole("num_attention_heads", 1, 4096);
  shape.key_heads = settings.whole_or("num_key_value_heads", shape.heads, 1, 4096);
  shape.head_size = settings.whole_or("head_dim", shape.width / shape.heads, 1, 4096);
  shape.context = settings.whole("max_position_embeddings", 1, kMost);
  shape.epsilon = static_cast<float>(settings.number_or("rms_norm_eps", 1e-6));
  shape.is_tied = settings.flag_or("tie_word_embeddings", false);
  settings.require_text("hidden_act", "silu");
  if (shape.heads % shape.key_heads != 0 || shape.head_size % 2 != 0 || shape.head_size == 0) {
    settings.fail(invalid_argument(
        "{} heads of {} numbers cannot share {} heads of keys: num_attention_heads must be a "
        "multiple of num_key_value_heads, and head_dim even",
        shape.heads, shape.head_size, shape.key_heads));
    return shape;
  }
  shape.rotation = read_rotation(settings, shape.head_size);
  return shape;
}

Result<ir::Graph> make_decoder(const DecoderShape& shape, const weights::Weights& weights) {
  return Decoder(shape, weights).make();
}

}  // namespace sluice::recipes
