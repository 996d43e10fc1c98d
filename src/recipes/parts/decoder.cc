#include "recipes/parts/decoder.h"

#include <string>
#include <utility>

#include "recipes/parts/builder.h"
#include "recipes/parts/rotation.h"

namespace sluice::recipes {
namespace {

using ir::ElementType;

constexpr std::int64_t kMost = std::int64_t{1} << 24;

/// Of a page of keys and values (docs/decisions/0102-texts-share-a-run.md).
constexpr std::int64_t kPagePlaces = 32;

/// How far the pairs of a head turn at each position.
struct Turn {
  OperandId cosines;  ///< [1, S, head size / 2]
  OperandId sines;
};

/// Values that all layers read.
struct Rows {
  OperandId positions;  ///< [S]: in the sequence
  OperandId sequences;  ///< [S]: rows of the tables
  OperandId tables;     ///< [N, B]: pages of each sequence
  Turn turn;            ///< of layers that see all
  Turn local_turn;      ///< of others
  OperandId places;     ///< [S, key heads, 3]: where rows of keys and values are written
};

class Decoder {
 public:
  Decoder(const DecoderShape& shape, const weights::Weights& weights)
      : shape_(shape), build_(weights) {}

  Result<ir::Graph> make() {
    const ir::Dim sequences = ir::Dim::symbol("N");
    const OperandId ids = input("ids", {count_});
    rows_.positions = input("positions", {count_});
    rows_.sequences = input("sequences", {count_});
    rows_.tables = input("tables", {sequences, ir::Dim::symbol("B")});
    const OperandId last = input("last", {sequences});
    make_states();
    read_positions();
    OperandId x = build_.rows("model.embed_tokens.weight", ids, {shape_.vocabulary, shape_.width});
    if (shape_.input_scale != 1) {
      x = build_.op("Mul", {x, build_.floats({shape_.input_scale}, {1})});
    }
    for (std::int64_t i = 0; i < shape_.layers; ++i) x = layer(x, static_cast<std::size_t>(i));
    // The others' logits are of no use: they are not computed.
    const OperandId normed =
        norm(build_.op("Gather", {x, last}), "model.norm.weight", shape_.width);
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
  OperandId input(const char* name, ir::Shape shape) {
    return build_.input(name, ir::Type::tensor(ElementType::kI64, std::move(shape)));
  }

  void make_states() {
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      for (const char* kind : {"keys", "values"}) {
        const std::string name = fmt::format("state.{}.{}", kind, i);
        const ir::Shape dims = {ir::Dim::symbol("P"), shape_.key_heads, kPagePlaces,
                                shape_.head_size};
        const OperandId now = build_.input(name, ir::Type::tensor(shape_.cache, dims));
        states_.push_back({name, now, {}});
      }
    }
  }

  void read_positions() {
    const OperandId column = build_.op("Unsqueeze", {rows_.positions, build_.ints({0, 2})});
    const OperandId wide = build_.cast(column, ElementType::kF32);
    rows_.turn = turn_of(wide, shape_.rotation);
    if (!shape_.local_rotation.empty()) {
      rows_.local_turn = turn_of(wide, shape_.local_rotation);
    }
    rows_.places = places_of();
  }

  Turn turn_of(OperandId positions, const std::vector<float>& rotation) {
    const auto half = static_cast<std::int64_t>(rotation.size());
    const OperandId angles = build_.op("Mul", {positions, build_.floats(rotation, {1, 1, half})});
    return {build_.op("Cos", {angles}), build_.op("Sin", {angles})};
  }

  /// (page, head, place) of each row.
  OperandId places_of() {
    const OperandId size = build_.ints({kPagePlaces}, {});
    const OperandId block = build_.op("Div", {rows_.positions, size});
    const auto column = [&](OperandId numbers) {
      return build_.op("Unsqueeze", {numbers, build_.ints({1})});
    };
    const OperandId entry =
        build_.op("Concat", {column(rows_.sequences), column(block)}, {{"axis", std::int64_t{1}}});
    const OperandId page = build_.op("GatherND", {rows_.tables, entry});
    const OperandId place = build_.op("Mod", {rows_.positions, size});
    const auto along = [&](OperandId numbers, const Builder::Ints& axis) {
      const OperandId apart = build_.op("Unsqueeze", {numbers, build_.ints({1, 2})});
      return build_.op("Mul", {apart, build_.ints(axis)});
    };
    Builder::Ints heads;
    for (std::int64_t i = 0; i < shape_.key_heads; ++i) heads.insert(heads.end(), {0, i, 0});
    const OperandId in_page = build_.op("Add", {along(page, {1, 0, 0}), along(place, {0, 0, 1})});
    return build_.op("Add", {in_page, build_.ints(heads, {1, shape_.key_heads, 3})});
  }

  OperandId norm(OperandId x, const std::string& weight, std::int64_t width) {
    OperandId scale = build_.wide_weight(weight, {width});
    if (shape_.has_norms_around_1) scale = build_.op("Add", {scale, build_.floats({1}, {1})});
    return build_.op("RMSNormalization", {x, scale},
                     {{"axis", std::int64_t{-1}}, {"epsilon", shape_.epsilon}});
  }

  OperandId linear(OperandId x, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias) {
    const OperandId y = build_.product(x, name + ".weight", out, in);
    if (!has_bias) return y;
    return build_.op("Add", {y, build_.wide_weight(name + ".bias", {out})});
  }

  /// [S, heads * size], biased.
  OperandId heads_of(OperandId x, const std::string& name, const char* kind, std::int64_t heads) {
    const std::string product = fmt::format("{}.{}_proj", name, kind);
    return linear(x, product, heads * shape_.head_size, shape_.width, shape_.has_qkv_bias);
  }

  /// [S, heads, size].
  OperandId split(OperandId x, std::int64_t heads) {
    return build_.op("Reshape", {x, build_.ints({0, heads, shape_.head_size})});
  }

  bool is_local(std::size_t layer) const {
    return shape_.is_local.empty() || shape_.is_local[layer];
  }
  const Turn& turn_at(std::size_t layer) const {
    return shape_.local_rotation.empty() || !is_local(layer) ? rows_.turn : rows_.local_turn;
  }

  OperandId turned(OperandId x, std::int64_t heads, const Turn& turn,
                   const std::string& norm_name) {
    if (shape_.has_head_norms) {
      const OperandId normed = norm(split(x, heads), norm_name, shape_.head_size);
      x = build_.op("Reshape", {normed, build_.ints({0, heads * shape_.head_size})});
    }
    const OperandId batch = build_.op("Unsqueeze", {x, build_.ints({0})});
    const OperandId turned = build_.op(
        "RotaryEmbedding", {batch, turn.cosines, turn.sines},
        {{"num_heads", heads}, {"interleaved", std::int64_t{shape_.is_interleaved ? 1 : 0}}});
    return build_.op("Squeeze", {turned, build_.ints({0})});
  }

  OperandId written(std::size_t state, OperandId rows) {
    State& at = states_[state];
    if (shape_.cache != ElementType::kF32) rows = build_.cast(rows, shape_.cache);
    at.next = build_.op("ScatterND", {at.now, rows_.places, split(rows, shape_.key_heads)});
    return at.next;
  }

  OperandId attention(OperandId x, const std::string& name, std::size_t index) {
    const Turn& turn = turn_at(index);
    const OperandId q =
        turned(heads_of(x, name, "q", shape_.heads), shape_.heads, turn, name + ".q_norm.weight");
    const OperandId k = turned(heads_of(x, name, "k", shape_.key_heads), shape_.key_heads, turn,
                               name + ".k_norm.weight");
    const OperandId v = heads_of(x, name, "v", shape_.key_heads);
    const OperandId keys = written(2 * index, k);
    const OperandId values = written(2 * index + 1, v);
    const OperandId y = build_.op("PagedAttention",
                                  {q, keys, values, rows_.positions, rows_.sequences, rows_.tables},
                                  {{"window", is_local(index) ? shape_.window.value_or(0) : 0},
                                   {"scale", shape_.attention_scale}},
                                  "sluice");
    return linear(y, name + ".o_proj", shape_.width, shape_.heads * shape_.head_size,
                  shape_.has_output_bias);
  }

  OperandId bent(OperandId x) {
    if (!shape_.has_gelu) return build_.op("Mul", {x, build_.op("Sigmoid", {x})});
    return build_.op("Gelu", {x}, {{"approximate", std::string("tanh")}});
  }

  OperandId gated(OperandId x, const std::string& name) {
    const auto up = [&](const char* kind) {
      return linear(x, name + kind, shape_.inner_width, shape_.width, shape_.has_inner_bias);
    };
    const OperandId gate = up(".gate_proj");
    return linear(build_.op("Mul", {bent(gate), up(".up_proj")}), name + ".down_proj", shape_.width,
                  shape_.inner_width, shape_.has_inner_bias);
  }

  OperandId layer(OperandId x, std::size_t index) {
    const std::string name = fmt::format("model.layers.{}", index);
    const OperandId before = norm(x, name + ".input_layernorm.weight", shape_.width);
    const OperandId seen = attention(before, name + ".self_attn", index);
    // Gemma's name for a norm behind the attention is Llama's for the one before the product.
    const std::string middle = name + ".post_attention_layernorm.weight";
    if (!shape_.has_norms_behind) {
      x = build_.op("Add", {x, seen});
      return build_.op("Add", {x, gated(norm(x, middle, shape_.width), name + ".mlp")});
    }
    x = build_.op("Add", {x, norm(seen, middle, shape_.width)});
    const OperandId after = norm(x, name + ".pre_feedforward_layernorm.weight", shape_.width);
    const OperandId product = gated(after, name + ".mlp");
    return build_.op("Add",
                     {x, norm(product, name + ".post_feedforward_layernorm.weight", shape_.width)});
  }

  const DecoderShape& shape_;
  Builder build_;
  ir::Dim count_ = ir::Dim::symbol("S");
  std::vector<State> states_;  ///< keys and values of layer 0, of layer 1, ..
  Rows rows_;
};

}  // namespace

DecoderShape read_decoder(Settings& settings, std::string_view bend) {
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
  if (!bend.empty()) settings.require_text("hidden_act", bend);
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
