#include "ops/attribute_rules.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <variant>

namespace sluice::ops {
namespace {

/// Alternatives of ir::Attribute that rules take, in its order.
enum class AttributeKind : std::size_t {
  kInt,
  kFloat,
  kText,
  kInts,
  kFloats,
  kTexts,
  kTensor,
  kGraph,
  kType,
};

constexpr std::string_view kKindNames[] = {
    "an integer", "a float", "text",   "a list of integers", "a list of floats", "a list of texts",
    "a tensor",   "a graph", "a type", "a list of graphs",   "a list of tensors"};
static_assert(std::size(kKindNames) == std::variant_size_v<ir::Attribute>);

struct Rule {
  std::string_view attributes;  ///< names
  AttributeKind kind;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  ///< of an integer, or of each
  std::string_view words = "";  ///< if not empty, the allowed words
  std::string_view operators =
      "";  ///< if not empty, the rule applies to these operators only and before other rules
};

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
constexpr std::string_view kFloatTypes = "1 10 11 16";  // numbers of TensorProto.DataType
constexpr std::string_view kWindows =
    "AveragePool Conv ConvInteger ConvTranspose DeformConv LpPool MaxPool MaxUnpool QLinearConv";

constexpr Rule kRules[] = {
    // Rules for one operator, where other operators use the attribute's name with another meaning.
    {"value", AttributeKind::kFloat, kAny, "", "ConstantFill ConstantLike Pad"},
    {"bias", AttributeKind::kFloats, kAny, "", "ImageScaler"},
    {"border scale", AttributeKind::kInts, 0, "", "Crop"},
    {"seed", AttributeKind::kInt, kAny, "", "Dropout"},
    {"mode", AttributeKind::kText, kAny, "constant edge reflect wrap", "Pad"},
    {"mode", AttributeKind::kText, kAny, "bilinear linear bicubic cubic nearest", "GridSample"},
    {"mode", AttributeKind::kText, kAny, "linear bilinear cubic nearest", "Resize Upsample"},
    {"mode", AttributeKind::kText, kAny, "avg max", "RoiAlign"},
    {"mode", AttributeKind::kText, kAny, "CRD DCR", "DepthToSpace SpaceToDepth"},
    {"mode", AttributeKind::kText, kAny, "circular linear", "TensorScatter"},
    {"mode", AttributeKind::kText, kAny, "IDF TF TFIDF", "TfIdfVectorizer"},
    {"direction", AttributeKind::kText, kAny, "LEFT RIGHT", "BitShift"},
    {"direction", AttributeKind::kText, kAny, "bidirectional forward reverse", "GRU LSTM RNN"},
    {"reduction", AttributeKind::kText, kAny, "add max min mul none", "ScatterElements ScatterND"},
    {"reduction", AttributeKind::kText, kAny, "mean none sum",
     "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"},
    {"coordinate_transformation_mode", AttributeKind::kText, kAny, "half_pixel output_half_pixel",
     "RoiAlign"},
    {"coordinate_transformation_mode", AttributeKind::kText, kAny,
     "align_corners asymmetric half_pixel half_pixel_symmetric pytorch_half_pixel "
     "tf_crop_and_resize tf_half_pixel_for_nn",
     "Resize"},
    {"pads", AttributeKind::kInts, 0, "", kWindows},
    {"p", AttributeKind::kInt, 1, "1 2", "LpNormalization"},
    {"output_dtype", AttributeKind::kInt, 0, "", "DequantizeLinear QuantizeLinear"},

    // Words.
    {"activation", AttributeKind::kText, kAny, "none silu swish"},
    {"approximate", AttributeKind::kText, kAny, "none tanh"},
    {"auto_pad", AttributeKind::kText, kAny, "NOTSET SAME_LOWER SAME_UPPER VALID"},
    {"case_change_action", AttributeKind::kText, kAny, "LOWER NONE UPPER"},
    {"keep_aspect_ratio_policy", AttributeKind::kText, kAny, "not_larger not_smaller stretch"},
    {"nearest_mode", AttributeKind::kText, kAny, "ceil floor round_prefer_ceil round_prefer_floor"},
    {"padding_mode", AttributeKind::kText, kAny, "border reflection zeros"},
    {"pixel_format", AttributeKind::kText, kAny, "BGR Grayscale RGB"},
    {"round_mode", AttributeKind::kText, kAny, "down nearest up"},
    {"update_rule", AttributeKind::kText, kAny, "delta gated gated_delta linear"},
    {"coordinate_transformation_mode delimiter direction equation locale mode pad_value pattern "
     "reduction tokenexp value_string",
     AttributeKind::kText},
    {"activations pool_strings separators stopwords value_strings", AttributeKind::kTexts},

    // Integers.
    {"blocksize group hidden_size max_gram_length min_gram_length mincharnum num_groups "
     "num_outputs "
     "num_scan_inputs offset_group output_height output_width p sample_size size",
     AttributeKind::kInt, 1},
    {"dtype output_datatype to", AttributeKind::kInt, 1},
    {"block_size kv_num_heads max_skip_count num_heads q_num_heads rotary_embedding_dim "
     "sampling_ratio",
     AttributeKind::kInt, 0},
    {"left_window_size right_window_size", AttributeKind::kInt, -1},
    {"center_point_box layout", AttributeKind::kInt, 0, "0 1"},
    {"qk_matmul_output_mode", AttributeKind::kInt, 0, "0 1 2 3"},
    {"precision", AttributeKind::kInt, 0, "0 1 10 11 16"},
    {"softmax_precision stash_type", AttributeKind::kInt, 1, kFloatTypes},
    {"align_corners allowzero antialias axis axis_w batch_axis batch_dims ceil_mode chunk_size "
     "count_include_pad detect_negative detect_positive drop_states end exclude_outside "
     "exclusive fmod ignore_index input_as_shape input_forget interleaved inverse "
     "is_case_sensitive is_causal is_test k keepdims largest linear_before_reset maxsplit "
     "new_axis noop_with_empty_axes onesided output_dtype output_sequence periodic reverse "
     "saturate select_last_index sorted spatial start storage_order time_axis training_mode "
     "transA transB upper value_int",
     AttributeKind::kInt},
    {"dilations kernel_shape output_shape pooled_shape strides", AttributeKind::kInts, 1},
    {"extra_shape output_padding shape", AttributeKind::kInts, 0},
    {"scan_input_directions scan_output_directions", AttributeKind::kInts, 0, "0 1"},
    {"axes ends ngram_counts ngram_indexes pads perm pool_int64s scan_input_axes scan_output_axes "
     "split starts value_ints",
     AttributeKind::kInts},

    // The rest.
    {"alpha beta bias clip cubic_coeff_a epsilon extrapolation_value gamma high lambd low mean "
     "momentum ratio scale seed softcap spatial_scale value_float",
     AttributeKind::kFloat},
    {"activation_alpha activation_beta scales value_floats values weights", AttributeKind::kFloats},
    {"sparse_value value", AttributeKind::kTensor},
    {"body else_branch then_branch", AttributeKind::kGraph},
    {"type", AttributeKind::kType},
};

/// Whether `word` stands in a list of words between spaces.
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = list.find(' ');
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
  return false;
}

const Rule* find_rule(std::string_view kind, std::string_view attribute) {
  const auto holds = [&](const Rule& rule) {
    return has_word(rule.attributes, attribute) &&
           (rule.operators.empty() || has_word(rule.operators, kind));
  };
  const auto* rule = std::ranges::find_if(kRules, holds);
  return rule == std::ranges::end(kRules) ? nullptr : rule;
}

Status refuse(std::string_view attribute, std::string_view value, const Rule& rule) {
  if (!rule.words.empty()) {
    return invalid_argument("attribute \"{}\" is {}; it must be one of: {}", attribute, value,
                            rule.words);
  }
  return invalid_argument("attribute \"{}\" is {}; it must be at least {}", attribute, value,
                          rule.least);
}

bool allows(const Rule& rule, std::int64_t value) {
  return value >= rule.least && (rule.words.empty() || has_word(rule.words, fmt::to_string(value)));
}

Status check_value(std::string_view name, const ir::Attribute& attribute, const Rule& rule) {
  std::span<const std::int64_t> integers;
  if (const auto* one = std::get_if<std::int64_t>(&attribute)) integers = {one, 1};
  if (const auto* many = std::get_if<std::vector<std::int64_t>>(&attribute)) integers = *many;
  for (const std::int64_t value : integers) {
    if (!allows(rule, value)) return refuse(name, fmt::to_string(value), rule);
  }
  const auto* text = std::get_if<std::string>(&attribute);
  if (text == nullptr || rule.words.empty() || has_word(rule.words, *text)) return ok_status();
  return refuse(name, fmt::format("\"{}\"", *text), rule);
}

/// Exporters omit the type of an empty list; importers then read it as integers.
bool is_empty_list(const ir::Attribute& attribute) {
  const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute);
  return integers != nullptr && integers->empty();
}

}  // namespace

Status check_attribute_rules(std::string_view kind, const ir::Attributes& attributes) {
  for (const auto& [name, attribute] : attributes) {
    const Rule* rule = find_rule(kind, name);
    if (rule == nullptr || is_empty_list(attribute)) continue;
    if (attribute.index() != static_cast<std::size_t>(rule->kind)) {
      return wrong_kind(name, attribute, static_cast<std::size_t>(rule->kind));
    }
    SLUICE_TRY(check_value(name, attribute, *rule));
  }
  return ok_status();
}

Status wrong_kind(std::string_view name, const ir::Attribute& given, std::size_t taken) {
  return invalid_argument("attribute \"{}\" is of the wrong kind: got {}, takes {}", name,
                          kKindNames[given.index()], kKindNames[taken]);
}

}  // namespace sluice::ops
