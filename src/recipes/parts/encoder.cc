#include "recipes/parts/encoder.h"

#include <fmt/format.h>

#include <string>

#include "recipes/parts/builder.h"

namespace sluice::recipes {
namespace {

using ir::ElementType;

/// Rows of all texts lie one behind the other, [N * S, width], so that a product is one of
/// matrices.
class Encoder {
 public:
  Encoder(const EncoderShape& shape, const weights::Weights& weights)
      : shape_(shape), build_(weights) {
    if (build_.has_weight(prefixed("embeddings.word_embeddings.weight"))) prefix_ = names().prefix;
  }

  Result<ir::Graph> make(const Pooling& pooling) {
    ids_ = input("ids");
    mask_ = input("mask");
    sizes_ = build_.op("Shape", {ids_});
    const OperandId seen = build_.cast(mask_, ElementType::kBool);
    seen_ = build_.op("Unsqueeze", {seen, build_.ints({1, 2})});
    OperandId x = embeddings();
    for (std::int64_t i = 0; i < shape_.layers; ++i) x = layer(x, i);
    x = texts(x);
    if (shape_.head) {
      build_.output("scores", scores(x));
    } else {
      build_.output("vectors", pool(build_, pooling, x, mask_));
    }
    ignore_other_heads();
    return build_.finish();
  }

 private:
  const EncoderNames& names() const { return shape_.names; }
  std::string prefixed(std::string_view name) const {
    return std::string(names().prefix) + std::string(name);
  }
  std::string named(std::string_view name) const {
    return std::string(prefix_) + std::string(name);
  }

  OperandId input(const char* name) {
    const ir::Shape shape = {ir::Dim::symbol("N"), ir::Dim::symbol("S")};
    return build_.input(name, ir::Type::tensor(ElementType::kI64, shape));
  }

  /// [N * S, width] to [N, S, width], and back.
  OperandId texts(OperandId x) {
    const OperandId dims =
        build_.op("Concat", {sizes_, build_.ints({shape_.width})}, {{"axis", std::int64_t{0}}});
    return build_.op("Reshape", {x, dims});
  }
  OperandId rows(OperandId x) { return build_.op("Reshape", {x, build_.ints({-1, shape_.width})}); }

  OperandId look_up(const char* table, std::int64_t count, OperandId ids) {
    const OperandId weight =
        build_.weight(named(fmt::format("embeddings.{}.weight", table)), {count, shape_.width});
    return build_.cast(build_.op("Gather", {weight, ids}), ElementType::kF32);
  }

  OperandId embeddings() {
    OperandId x = look_up("word_embeddings", shape_.vocabulary, ids_);
    // Tokens before a place: what fills up may have any position.
    const OperandId before =
        build_.op("CumSum", {mask_, build_.ints({1}, {})}, {{"exclusive", std::int64_t{1}}});
    const OperandId places = build_.op("Add", {before, build_.ints({shape_.first_position}, {})});
    x = build_.op("Add", {x, look_up("position_embeddings", shape_.positions, places)});
    if (shape_.types > 0) {
      const OperandId types = look_up("token_type_embeddings", shape_.types, input("types"));
      x = build_.op("Add", {x, types});
    }
    return norm(rows(x), named("embeddings.LayerNorm"));
  }

  /// Files of older versions call weight and bias gamma and beta.
  OperandId norm(OperandId x, const std::string& name) {
    const bool is_old = build_.has_weight(name + ".gamma");
    const OperandId scale =
        build_.wide_weight(name + (is_old ? ".gamma" : ".weight"), {shape_.width});
    const OperandId shift = build_.wide_weight(name + (is_old ? ".beta" : ".bias"), {shape_.width});
    return build_.op("LayerNormalization", {x, scale, shift},
                     {{"axis", std::int64_t{-1}}, {"epsilon", shape_.epsilon}});
  }

  OperandId linear(OperandId x, const std::string& name, std::int64_t out, std::int64_t in) {
    const OperandId y = build_.product(x, name + ".weight", out, in);
    return build_.op("Add", {y, build_.wide_weight(name + ".bias", {out})});
  }

  OperandId bent(OperandId x) {
    if (shape_.bend == "relu") return build_.op("Relu", {x});
    const bool is_exact = shape_.bend == "gelu";
    return build_.op("Gelu", {x}, {{"approximate", std::string(is_exact ? "none" : "tanh")}});
  }

  OperandId attention(OperandId x, const std::string& name) {
    const auto part = [&](std::string_view of) {
      return texts(linear(x, name + std::string(of), shape_.width, shape_.width));
    };
    const OperandId q = part(names().query);
    const OperandId k = part(names().key);
    const OperandId v = part(names().value);
    const OperandId y = build_.op("Attention", {q, k, v, seen_},
                                  {{"q_num_heads", shape_.heads}, {"kv_num_heads", shape_.heads}});
    return linear(rows(y), name + std::string(names().attention_output), shape_.width,
                  shape_.width);
  }

  OperandId layer(OperandId x, std::int64_t index) {
    const std::string name = named(fmt::format(fmt::runtime(names().layer), index));
    const OperandId seen = attention(x, name);
    x = norm(build_.op("Add", {x, seen}), name + std::string(names().attention_norm));
    const OperandId inner =
        bent(linear(x, name + std::string(names().inner), shape_.inner_width, shape_.width));
    const OperandId outer =
        linear(inner, name + std::string(names().output), shape_.width, shape_.inner_width);
    return norm(build_.op("Add", {x, outer}), name + std::string(names().output_norm));
  }

  /// [N], of x [N, S, width].
  OperandId scores(OperandId x) {
    const OperandId first =
        build_.op("Gather", {x, build_.ints({0}, {})}, {{"axis", std::int64_t{1}}});
    const OperandId dense = linear(first, shape_.head->dense, shape_.width, shape_.width);
    const OperandId logits =
        linear(build_.op(shape_.head->bend, {dense}), shape_.head->scores, 1, shape_.width);
    const OperandId score = build_.op("Squeeze", {logits, build_.ints({1})});
    return shape_.is_sigmoid ? build_.op("Sigmoid", {score}) : score;
  }

  /// Checkpoints keep those of their training: to guess words, and what stands at the first token.
  void ignore_other_heads() {
    for (const char* name :
         {"cls.", "lm_head.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector."}) {
      build_.ignore(name);
    }
    build_.ignore(named("pooler."));
    build_.ignore(named("embeddings.position_ids"));
  }

  const EncoderShape& shape_;
  Builder build_;
  std::string_view prefix_;  ///< of this file
  OperandId ids_, mask_;     ///< [N, S]
  OperandId sizes_;          ///< N and S
  OperandId seen_;           ///< [N, 1, 1, S]: tokens that all see
};

}  // namespace

Result<ir::Graph> make_encoder(const EncoderShape& shape, const Pooling& pooling,
                               const weights::Weights& weights) {
  return Encoder(shape, weights).make(pooling);
}

}  // namespace sluice::recipes
