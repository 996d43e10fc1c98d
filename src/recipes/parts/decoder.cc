#include "recipes/parts/decoder.h"

#include <string>
#include <utility>

#include "recipes/parts/builder.h"
#include "recipes/parts/layer_parts.h"

namespace sluice::recipes {
namespace {

using ir::ElementType;

/// Places of a page of keys and values (docs/decisions/0102-texts-share-a-run.md).
constexpr std::int64_t kPagePlaces = 32;
/// Bytes of the scale that sluice::RoundRows puts behind a row of 8 bits.
constexpr std::int64_t kScaleBytes = 4;

/// How far the pairs of a head turn at each position.
struct Turn {
  OperandId cosines;  ///< [1, S, size / 2]
  OperandId sines;
  std::int64_t size = 0;  ///< numbers of a head that turn: its first ones
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
  Decoder(const DecoderShape& shape, const weights::Weights& weights, Adapters& adapters)
      : shape_(shape), build_(weights), parts_(shape, build_), adapters_(adapters) {}

  Result<ir::Graph> make() {
    const ir::Dim sequences = ir::Dim::symbol("N");
    const OperandId ids = input("ids", {count_});
    rows_.positions = input("positions", {count_});
    rows_.sequences = input("sequences", {count_});
    rows_.tables = input("tables", {sequences, ir::Dim::symbol("B")});
    const OperandId last = input("last", {sequences});
    make_states();
    read_positions();
    OperandId adapters;  // of sequences
    if (!adapters_.is_empty()) {
      adapters = input("adapters", {sequences});
      adapt(build_.op("Gather", {adapters, rows_.sequences}));
    }
    OperandId x = embeddings(ids);
    for (std::int64_t i = 0; i < shape_.layers; ++i) x = layer(x, static_cast<std::size_t>(i));
    // The others' logits are of no use: they are not computed.
    const OperandId normed = parts_.norm(build_.op("Gather", {x, last}),
                                         parts_.named(shape_.names.last_norm), shape_.width);
    if (!adapters_.is_empty()) adapt(adapters);
    const OperandId logits =
        build_.product(normed, shape_.is_tied ? table(shape_.names.table) : "lm_head.weight",
                       shape_.vocabulary, shape_.width);
    build_.output("logits", capped(logits, shape_.logit_cap));
    for (const State& state : states_) build_.output(state.name + ".next", state.next);
    ir::Graph graph = SLUICE_TRY(build_.finish());
    SLUICE_TRY(adapters_.check_all_taken());
    return graph;
  }

 private:
  struct State {
    std::string name;
    OperandId now, next;
  };
  OperandId input(const char* name, ir::Shape shape) {
    return build_.input(name, ir::Type::tensor(ElementType::kI64, std::move(shape)));
  }

  /// By the adapter of each row of the products that follow.
  void adapt(OperandId adapters) {
    build_.adapt(adapters_, build_.op("Unsqueeze", {adapters, build_.ints({1})}));
  }

  std::string table(std::string_view name) const { return parts_.named(name) + ".weight"; }

  OperandId embeddings(OperandId ids) {
    const DecoderNames& names = shape_.names;
    OperandId x = build_.rows(table(names.table), ids, {shape_.vocabulary, shape_.width});
    if (shape_.input_scale != 1) {
      x = build_.op("Mul", {x, build_.floats({shape_.input_scale}, {1})});
    }
    if (names.positions.empty()) return x;
    const OperandId at =
        build_.rows(table(names.positions), rows_.positions, {shape_.context, shape_.width});
    return build_.op("Add", {x, at});
  }

  void make_states() {
    const bool has_scales = shape_.cache == ElementType::kI8;
    const ir::Dim row = shape_.head_size + (has_scales ? kScaleBytes : 0);
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      for (const char* kind : {"keys", "values"}) {
        const std::string name = fmt::format("state.{}.{}", kind, i);
        const ir::Shape dims = {ir::Dim::symbol("P"), shape_.key_heads, kPagePlaces, row};
        const OperandId now = build_.input(name, ir::Type::tensor(shape_.cache, dims));
        states_.push_back({name, now, {}});
      }
    }
  }

  void read_positions() {
    const OperandId column = build_.op("Unsqueeze", {rows_.positions, build_.ints({0, 2})});
    const OperandId wide = build_.cast(column, ElementType::kF32);
    rows_.turn = turn_of(wide, shape_.rotation);
    rows_.local_turn = turn_of(wide, shape_.local_rotation);
    rows_.places = places_of();
  }

  /// Without operands for a rotation without angles.
  Turn turn_of(OperandId positions, const Rotation& rotation) {
    if (rotation.angles.empty()) return {};
    const OperandId each = build_.floats(rotation.angles, {1, 1, rotation.pairs()});
    const OperandId angles = build_.op("Mul", {positions, each});
    Turn turn = {build_.op("Cos", {angles}), build_.op("Sin", {angles}), 2 * rotation.pairs()};
    if (rotation.scale == 1) return turn;
    const OperandId scale = build_.floats({rotation.scale}, {1});
    turn.cosines = build_.op("Mul", {turn.cosines, scale});
    turn.sines = build_.op("Mul", {turn.sines, scale});
    return turn;
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

  /// [S, heads * size] each: queries, keys and values, biased.
  std::vector<OperandId> heads_of(OperandId x, const std::string& layer) {
    const DecoderNames& names = shape_.names;
    const std::int64_t wide = shape_.heads * shape_.head_size;
    const std::int64_t narrow = shape_.key_heads * shape_.head_size;
    const bool has_bias = shape_.has_qkv_bias;
    if (!names.joined.empty()) {
      return parts_.joined(x, layer + std::string(names.joined), {wide, narrow, narrow},
                           shape_.width, has_bias);
    }
    const auto product = [&](std::string_view name, std::int64_t width) {
      return parts_.linear(x, layer + std::string(name), width, shape_.width, has_bias);
    };
    std::vector<OperandId> heads = {product(names.query, wide)};
    heads.push_back(product(names.key, narrow));
    heads.push_back(product(names.value, narrow));
    return heads;
  }

  /// [S, heads, size].
  OperandId split(OperandId x, std::int64_t heads) {
    return build_.op("Reshape", {x, build_.ints({0, heads, shape_.head_size})});
  }

  bool is_local(std::size_t layer) const {
    return shape_.is_local.empty() || shape_.is_local[layer];
  }
  /// Null where queries and keys do not turn.
  const Turn* turn_at(std::size_t layer) const {
    if (shape_.rotation.angles.empty()) return nullptr;
    if (!shape_.is_turned.empty() && !shape_.is_turned[layer]) return nullptr;
    const bool has_own = !shape_.local_rotation.angles.empty() && is_local(layer);
    return has_own ? &rows_.local_turn : &rows_.turn;
  }

  OperandId turned(OperandId x, std::int64_t heads, const Turn* turn,
                   const std::string& norm_name) {
    if (shape_.has_head_norms) {
      const OperandId normed = parts_.norm(split(x, heads), norm_name, shape_.head_size);
      x = build_.op("Reshape", {normed, build_.ints({0, heads * shape_.head_size})});
    }
    if (turn == nullptr) return x;
    Builder::Attributes attributes = {{"num_heads", heads},
                                      {"interleaved", std::int64_t{shape_.is_interleaved ? 1 : 0}}};
    if (turn->size != shape_.head_size) {
      attributes.emplace_back("rotary_embedding_dim", turn->size);
    }
    const OperandId batch = build_.op("Unsqueeze", {x, build_.ints({0})});
    const OperandId turned =
        build_.op("RotaryEmbedding", {batch, turn->cosines, turn->sines}, attributes);
    return build_.op("Squeeze", {turned, build_.ints({0})});
  }

  OperandId written(std::size_t state, OperandId rows) {
    State& at = states_[state];
    const bool rounds = shape_.cache == ElementType::kI8;
    if (!rounds && shape_.cache != ElementType::kF32) rows = build_.cast(rows, shape_.cache);
    rows = split(rows, shape_.key_heads);
    if (rounds) rows = build_.op("RoundRows", {rows}, {}, "sluice");
    at.next = build_.op("ScatterND", {at.now, rows_.places, rows});
    return at.next;
  }

  OperandId attention(OperandId x, const std::string& layer, std::size_t index) {
    const Turn* turn = turn_at(index);
    const auto heads = heads_of(x, layer);
    const OperandId q = turned(heads[0], shape_.heads, turn, layer + "self_attn.q_norm");
    const OperandId k = turned(heads[1], shape_.key_heads, turn, layer + "self_attn.k_norm");
    const OperandId keys = written(2 * index, k);
    const OperandId values = written(2 * index + 1, heads[2]);
    const OperandId y = build_.op("PagedAttention",
                                  {q, keys, values, rows_.positions, rows_.sequences, rows_.tables},
                                  {{"window", is_local(index) ? shape_.window.value_or(0) : 0},
                                   {"softcap", shape_.attention_cap},
                                   {"scale", shape_.attention_scale}},
                                  "sluice");
    return parts_.linear(y, layer + std::string(shape_.names.attention_output), shape_.width,
                         shape_.heads * shape_.head_size, shape_.has_output_bias);
  }

  OperandId layer(OperandId x, std::size_t index) {
    const DecoderNames& names = shape_.names;
    const std::string name = parts_.named(fmt::format(fmt::runtime(names.layer), index));
    const auto normed = [&](OperandId rows, std::string_view which) {
      return parts_.norm(rows, name + std::string(which), shape_.width);
    };
    for (const std::string_view weight : names.ignored) build_.ignore(name + std::string(weight));
    const OperandId seen = attention(normed(x, names.attention_norm), name, index);
    if (!shape_.has_norms_behind) {
      x = build_.op("Add", {x, seen});
      return build_.op("Add", {x, parts_.inner(normed(x, names.inner_norm), name, index)});
    }
    // Gemma's name for a norm behind the attention is Llama's for the one before the product.
    x = build_.op("Add", {x, normed(seen, names.inner_norm)});
    const OperandId product = parts_.inner(normed(x, "pre_feedforward_layernorm"), name, index);
    return build_.op("Add", {x, normed(product, "post_feedforward_layernorm")});
  }

  /// c * tanh(x / c)
  OperandId capped(OperandId x, float cap) {
    if (cap <= 0) return x;
    const OperandId most = build_.floats({cap}, {1});
    return build_.op("Mul", {build_.op("Tanh", {build_.op("Div", {x, most})}), most});
  }

  const DecoderShape& shape_;
  Builder build_;
  LayerParts parts_;
  Adapters& adapters_;
  ir::Dim count_ = ir::Dim::symbol("S");
  std::vector<State> states_;  ///< keys and values of layer 0, of layer 1, ..
  Rows rows_;
};

}  // namespace

Result<ir::Graph> make_decoder(const DecoderShape& shape, const weights::Weights& weights,
                               Adapters& adapters) {
  return Decoder(shape, weights, adapters).make();
}

}  // namespace sluice::recipes
