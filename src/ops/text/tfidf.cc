// TfIdfVectorizer: counts of n-grams.
#include <algorithm>
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

using Ints = std::vector<std::int64_t>;

/// Largest coordinate plus 1: the length of a result's row.
Result<std::int64_t> row_length(const InferenceContext& context) {
  const Ints coordinates = context.ints_attribute("ngram_indexes");
  if (coordinates.empty()) return context.error("ngram_indexes is empty");
  const auto [least, largest] = std::minmax_element(coordinates.begin(), coordinates.end());
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  if (*least < 0 || *largest >= kMax) {
    return context.error("ngram_indexes reach from {} to {}; they must be in [0, {})", *least,
                         *largest, kMax);
  }
  return *largest + 1;
}

Status check_pool(const InferenceContext& context) {
  const bool has_ints = context.attributes().contains("pool_int64s");
  const bool has_texts = context.attributes().contains("pool_strings");
  if (has_ints == has_texts) {
    return context.error("it needs one of pool_int64s and pool_strings, and not both");
  }
  const bool takes_texts = context.element(0) == ir::ElementType::kString;
  if (context.element(0) != ir::ElementType::kUndefined && takes_texts != has_texts) {
    return context.error("a pool of {} does not match input {}", has_texts ? "strings" : "i64",
                         context.input(0).to_string());
  }
  SLUICE_TRY(check_choice(context, "mode", {"TF", "IDF", "TFIDF"}));
  const std::int64_t least = context.int_attribute("min_gram_length");
  const std::int64_t most = context.int_attribute("max_gram_length");
  if (least < 1 || most < least) {
    return context.error("min_gram_length {} and max_gram_length {} must be 1 <= min <= max", least,
                         most);
  }
  const std::int64_t skips = context.int_attribute("max_skip_count");
  return skips < 0 ? context.error("max_skip_count is {}", skips) : ok_status();
}

/// [C] to [row], [N, C] to [N, row].
Status infer_tfidf(InferenceContext& context) {
  SLUICE_TRY(check_pool(context));
  const std::int64_t row = SLUICE_TRY(row_length(context));
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  if (input->size() > 2) {
    return context.error("input {} must be [C] or [N, C]", ir::shape_to_string(*input));
  }
  ir::Shape shape = {row};
  if (input->size() == 2) shape.insert(shape.begin(), (*input)[0]);
  context.set_output(0, ir::ElementType::kF32, std::move(shape));
  return ok_status();
}

}  // namespace

std::vector<OpSchema> tfidf_ops() {
  return {{.name = "TfIdfVectorizer",
           .versions = {9},
           .doc = "counts of the n-grams of a pool, weighted on request",
           .inputs = {{.name = "X", .types = kStrings | kIndices}},
           .outputs = {{.name = "Y", .types = {ir::ElementType::kF32}}},
           .attributes = {{"max_gram_length", std::int64_t{0}, true},
                          {"max_skip_count", std::int64_t{0}, true},
                          {"min_gram_length", std::int64_t{0}, true},
                          {"mode", std::string(), true},
                          {"ngram_counts", Ints(), true},
                          {"ngram_indexes", Ints(), true},
                          {"pool_int64s", std::nullopt},
                          {"pool_strings", std::nullopt},
                          {"weights", std::nullopt}},
           .infer = infer_tfidf}};
}

}  // namespace sluice::ops
