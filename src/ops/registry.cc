#include <algorithm>
#include <tuple>

#include "ops/custom.h"
#include "ops/families.h"
#include "ops/schema.h"

namespace sluice::ops {
namespace {

using Family = std::vector<OpSchema> (*)();
// A list instead of objects that register themselves: a static library would lose those to the
// linker.
constexpr Family kFamilies[] = {
    activation_ops,
    attention_ops,
    cast_ops,
    category_ops,
    causal_ops,
    concat_split_ops,
    contrib_ops,
    control_ops,
    conv_ops,
    cumulative_ops,
    detection_ops,
    einsum_ops,
    elementwise_binary_ops,
    elementwise_many_ops,
    elementwise_unary_ops,
    extend_ops,
    feature_ops,
    fused_ops,
    gather_ops,
    generate_ops,
    linear_model_ops,
    image_decoder_ops,
    loss_ops,
    map_ops,
    matmul_ops,
    ml_step_ops,
    normalization_ops,
    optional_ops,
    paged_ops,
    pool_ops,
    quantize_ops,
    random_ops,
    rearrange_ops,
    recurrent_ops,
    reduction_ops,
    reshape_ops,
    resize_ops,
    routed_ops,
    sampling_ops,
    scatter_ops,
    select_ops,
    sequence_map_ops,
    sequence_ops,
    shape_query_ops,
    signal_ops,
    slice_ops,
    softmax_ops,
    tree_ops,
    string_ops,
    tfidf_ops,
    tokenizer_ops,
};

auto key(const OpSchema* schema) { return std::tie(schema->domain, schema->name); }

/// Built at the first look-up, then never changed.
class Registry {
 public:
  Registry() {
    for (const Family family : kFamilies) {
      for (OpSchema& schema : family()) owned_.push_back(std::move(schema));
    }
    // Addresses of owned_, which does not grow any more.
    for (const OpSchema& schema : owned_) sorted_.push_back(&schema);
    std::sort(sorted_.begin(), sorted_.end(),
              [](const OpSchema* a, const OpSchema* b) { return key(a) < key(b); });
  }

  const OpSchema* find(std::string_view domain, std::string_view name) const {
    const auto wanted = std::tie(domain, name);
    const auto it = std::lower_bound(
        sorted_.begin(), sorted_.end(), wanted,
        [](const OpSchema* schema, const auto& value) { return key(schema) < value; });
    return it != sorted_.end() && key(*it) == wanted ? *it : nullptr;
  }

  std::span<const OpSchema* const> all() const { return sorted_; }

 private:
  std::vector<OpSchema> owned_;
  std::vector<const OpSchema*> sorted_;
};

const Registry& registry() {
  static const Registry kRegistry;
  return kRegistry;
}

}  // namespace

std::string TypeSet::to_string() const {
  std::string text;
  // TypeSet is a mask of 32 bits, one for each ONNX number.
  for (int i = 1; i < 32; ++i) {
    const auto type = ir::element_type_from_onnx(i);
    if (!type || !contains(*type)) continue;
    if (!text.empty()) text += ", ";
    text += ir::element_type_name(*type);
  }
  return text;
}

const OpSchema* find_built_in_schema(std::string_view domain, std::string_view name) {
  return registry().find(domain == "ai.onnx" ? "" : domain, name);
}

const OpSchema* find_schema(std::string_view domain, std::string_view name) {
  // Built-in operators win: a program cannot change what ONNX defines.
  const OpSchema* schema = find_built_in_schema(domain, name);
  return schema != nullptr ? schema : find_custom_schema(domain, name);
}

std::optional<int> version_in_opset(const OpSchema& schema, int opset) {
  std::optional<int> newest;
  for (const int version : schema.versions) {
    if (version <= opset) newest = version;
  }
  return newest;
}

std::span<const OpSchema* const> all_schemas() { return registry().all(); }

}  // namespace sluice::ops
