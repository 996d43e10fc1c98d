// A folder of PEFT names the matrices of a module, whose weight is `MODULE.weight`,
// `base_model.model.MODULE.lora_A.weight` [rank, in] and `.lora_B.weight` [out, rank]
// (github.com/huggingface/peft, "Checkpoint format" of its documentation).
#include "recipes/parts/adapters.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text/plural.h"
#include "base/utf8.h"
#include "recipes/parts/read_json.h"
#include "weights/safetensors.h"

namespace sluice::recipes {
namespace {

using ir::ElementType;

constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kDown = ".lora_A.weight";
constexpr std::string_view kUp = ".lora_B.weight";
constexpr std::size_t kMostAdapters = 256;
constexpr std::int64_t kMostStackBytes = std::int64_t{4} << 30;

/// Whether `name` is `end`, or ends with it behind a point.
bool names_module(std::string_view name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  return name.size() == end.size() || name[name.size() - end.size() - 1] == '.';
}

/// PEFT takes the keys of alpha_pattern as regular expressions for the ends of modules' names. Keys
/// that are names mean the same here; a point in them stands for itself.
std::map<std::string, double> read_alphas(Settings& settings) {
  std::map<std::string, double> alphas;
  const nlohmann::json pattern = settings.value("alpha_pattern");
  if (pattern.is_null()) return alphas;
  if (!pattern.is_object()) settings.fail(invalid_argument("alpha_pattern: expected an object"));
  for (const auto& [name, alpha] : pattern.items()) {
    if (name.find_first_of("\\*+?[](){}|^$") != std::string::npos) {
      settings.fail(unimplemented("alpha_pattern: \"{}\" is an expression; names are read", name));
    }
    const double number = alpha.is_number() ? alpha.get<double>() : NAN;
    if (!std::isfinite(number)) {
      settings.fail(invalid_argument("alpha_pattern: \"{}\" has no number", name));
    }
    alphas.emplace(name, number);
  }
  return alphas;
}

/// Some ways to begin a training change the model's own weights, too.
void check_begin(Settings& settings) {
  const nlohmann::json begin = settings.value("init_lora_weights");
  if (begin.is_null() || begin.is_boolean() || begin == "gaussian" || begin == "orthogonal") return;
  settings.fail(
      unimplemented("init_lora_weights: {} changes the weights of the model; convert the "
                    "adapter to plain LoRA",
                    begin.dump()));
}

bool is_float(ElementType element) {
  return element == ElementType::kF32 || element == ElementType::kF16 ||
         element == ElementType::kBf16;
}

/// Fails for another tensor than a matrix of floats.
Status check_matrix(const std::string& name, const ir::Constant& matrix) {
  const auto dims = matrix.type.static_dims();
  const bool is_matrix = dims && dims->size() == 2 && (*dims)[0] > 0 && (*dims)[1] > 0;
  if (is_matrix && is_float(matrix.type.element())) return ok_status();
  return invalid_argument("tensor \"{}\" is {}; a matrix of floats is expected", name,
                          matrix.type.to_string());
}

std::int64_t dim(const ir::Constant& matrix, std::size_t axis) {
  return (*matrix.type.static_dims())[axis];
}

ir::Constant as_f32(const ir::Constant& matrix) {
  const std::vector<double> values = *ir::float_values(matrix);
  return ir::make_f32_constant({values.begin(), values.end()}, *matrix.type.shape());
}

/// Rows of a matrix, copied to lines of a stack that are `line_bytes` long.
void copy_rows(const ir::Constant& matrix, std::size_t line_bytes, std::byte* to) {
  const auto rows = static_cast<std::size_t>(dim(matrix, 0));
  const std::size_t row_bytes = matrix.data.size() / rows;
  for (std::size_t i = 0; i < rows; ++i) {
    std::memcpy(to + i * line_bytes, matrix.data.data() + i * row_bytes, row_bytes);
  }
}

/// Rows j and j + size / 2 of a head become rows 2 j and 2 j + 1.
ir::Constant with_rows_in_pairs(const ir::Constant& matrix, std::int64_t head_size) {
  const auto rows = static_cast<std::size_t>(dim(matrix, 0));
  const std::size_t row_bytes = matrix.data.size() / rows;
  const auto size = static_cast<std::size_t>(head_size);
  MutableBytes all(matrix.data.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t place = row % size, half = size / 2;
    const std::size_t to = row - place + (place < half ? 2 * place : 2 * (place - half) + 1);
    std::memcpy(all.view().data() + to * row_bytes, matrix.data.data() + row * row_bytes,
                row_bytes);
  }
  return {matrix.type, std::move(all).freeze()};
}

}  // namespace

float AdapterSettings::scale_of(std::string_view module, std::int64_t rank) const {
  const auto own = std::ranges::find_if(
      alphas, [&](const auto& entry) { return names_module(module, entry.first); });
  const double wanted = own == alphas.end() ? alpha : own->second;
  const auto size = static_cast<double>(rank);
  return static_cast<float>(wanted / (has_root ? std::sqrt(size) : size));
}

AdapterSettings read_adapter(Settings& settings) {
  AdapterSettings read;
  settings.require_text("peft_type", "LORA");
  read.alpha = settings.number_or("lora_alpha", 8);
  read.has_root = settings.flag_or("use_rslora", false);
  read.alphas = read_alphas(settings);
  check_begin(settings);
  for (const char* name : {"use_dora", "use_qalora", "lora_bias"}) {
    settings.require_flag(name, false);
  }
  if (settings.has("bias")) settings.require_text("bias", "none");
  // Ranks and targets are those of the matrices; the rest says how the adapter was trained.
  settings.ignore({"auto_mapping",
                   "base_model_name_or_path",
                   "corda_config",
                   "eva_config",
                   "exclude_modules",
                   "fan_in_fan_out",
                   "inference_mode",
                   "layers_pattern",
                   "layers_to_transform",
                   "loftq_config",
                   "lora_dropout",
                   "megatron_config",
                   "megatron_core",
                   "peft_version",
                   "qalora_group_size",
                   "r",
                   "rank_pattern",
                   "revision",
                   "runtime_config",
                   "target_modules",
                   "task_type"});
  return read;
}

Result<Adapters::Pairs> Adapters::read_pairs(const AdapterSource& source) {
  const auto files = source.files();
  const std::string config = files[0].filename(), matrices = files[1].filename();
  auto json = read_json(files[0]);
  Settings settings(SLUICE_TRY(std::move(json).with_context(config)));
  const AdapterSettings read = read_adapter(settings);
  SLUICE_TRY(settings.finish().with_context(config));
  const Bytes file = SLUICE_TRY(map_file(files[1]));
  const weights::Weights tensors =
      SLUICE_TRY(weights::read_safetensors(file).with_context(matrices));
  Pairs pairs;
  for (const auto& [name, matrix] : tensors) {
    const bool is_down = name.ends_with(kDown);
    if (!name.starts_with(kPrefix) || (!is_down && !name.ends_with(kUp))) {
      return unimplemented("tensor \"{}\": adapters of matrices lora_A and lora_B are read", name);
    }
    SLUICE_TRY(check_matrix(name, matrix));
    const std::string_view end = is_down ? kDown : kUp;
    Pair& pair = pairs[name.substr(kPrefix.size(), name.size() - kPrefix.size() - end.size())];
    (is_down ? pair.down : pair.up) = matrix;
  }
  for (auto& [module, pair] : pairs) {
    const bool fits = pair.down.data.size() > 0 && pair.up.data.size() > 0 &&
                      dim(pair.down, 0) == dim(pair.up, 1);
    if (!fits) return invalid_argument("lora_A and lora_B of \"{}\" do not fit", module);
    pair.scale = read.scale_of(module, dim(pair.down, 0));
  }
  return pairs;
}

Result<Adapters> Adapters::open(std::span<const AdapterSource> sources) {
  if (sources.size() > kMostAdapters) {
    return invalid_argument("{} adapters are given; a model has at most {}", sources.size(),
                            kMostAdapters);
  }
  Adapters adapters;
  for (const AdapterSource& source : sources) {
    SLUICE_TRY(check_name(source.name, "adapter"));
    if (source.name.empty() ||
        std::ranges::find(adapters.names_, source.name) != adapters.names_.end()) {
      return invalid_argument("an adapter has the name \"{}\": names differ and are not empty",
                              source.name);
    }
    auto pairs = read_pairs(source);
    adapters.pairs_.push_back(
        SLUICE_TRY(std::move(pairs).with_context(fmt::format("adapter \"{}\"", source.name))));
    adapters.names_.push_back(source.name);
  }
  return adapters;
}

void Adapters::pair_rows(std::string_view module, std::int64_t head_size) {
  for (Pairs& pairs : pairs_) {
    for (auto& [name, pair] : pairs) {
      const bool has_heads = dim(pair.up, 0) % head_size == 0 && head_size % 2 == 0;
      if (names_module(name, module) && has_heads) {
        pair.up = with_rows_in_pairs(pair.up, head_size);
      }
    }
  }
}

Result<std::optional<AdapterStack>> Adapters::find(std::string_view weight, std::int64_t out,
                                                   std::int64_t in) {
  const std::string_view module = weight.substr(0, weight.rfind(".weight"));
  std::vector<const Pair*> found;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    // Files of the decoder alone leave out the first part of the names.
    const auto named = std::ranges::find_if(
        pairs_[i], [&](const auto& entry) { return names_module(entry.first, module); });
    found.push_back(named == pairs_[i].end() ? nullptr : &named->second);
    if (found.back() == nullptr) continue;
    taken_.insert(named->first);
    const Pair& pair = *found.back();
    if (dim(pair.down, 1) == in && dim(pair.up, 0) == out) continue;
    return invalid_argument(
        "adapter \"{}\": \"{}\" is {} and {}; the product has {} columns and {} results", names_[i],
        named->first, pair.down.type.to_string(), pair.up.type.to_string(), in, out);
  }
  if (std::ranges::all_of(found, [](const Pair* pair) { return pair == nullptr; })) {
    return std::optional<AdapterStack>();
  }
  auto stack = stack_of(found, out, in);
  return std::optional(
      SLUICE_TRY(std::move(stack).with_context(fmt::format("adapters of \"{}\"", module))));
}

Result<AdapterStack> Adapters::stack_of(const std::vector<const Pair*>& pairs, std::int64_t out,
                                        std::int64_t in) {
  std::int64_t rank = 0;
  std::set<ElementType> elements;
  for (const Pair* pair : pairs) {
    if (pair == nullptr) continue;
    rank = std::max(rank, dim(pair->down, 0));
    elements.insert({pair->down.type.element(), pair->up.type.element()});
  }
  const bool is_mixed = elements.size() > 1;
  const ElementType element = is_mixed ? ElementType::kF32 : *elements.begin();
  const std::int64_t size = ir::element_bits(element) / 8;
  const auto count = static_cast<std::int64_t>(pairs.size());
  if (rank > kMostStackBytes / (count * size * (in + out))) {
    return invalid_argument("{} of rank {} take more than 4 GiB", counted(count, "adapter"), rank);
  }
  const auto line_bytes = [&](std::int64_t numbers) {
    return static_cast<std::size_t>(numbers * size);
  };
  const std::size_t down_bytes = line_bytes(rank * in), up_bytes = line_bytes(rank * out);
  MutableBytes down(pairs.size() * down_bytes), up(pairs.size() * up_bytes);
  AdapterStack stack;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    stack.scales.push_back(pairs[i] == nullptr ? 1 : pairs[i]->scale);
    if (pairs[i] == nullptr) continue;
    const auto given = [&](const ir::Constant& matrix) {
      return is_mixed ? as_f32(matrix) : matrix;
    };
    copy_rows(given(pairs[i]->down), line_bytes(in), down.view().data() + i * down_bytes);
    copy_rows(given(pairs[i]->up), line_bytes(rank), up.view().data() + i * up_bytes);
  }
  stack.down = {ir::Type::tensor(element, ir::Shape{count, rank, in}), std::move(down).freeze()};
  stack.up = {ir::Type::tensor(element, ir::Shape{count, out, rank}), std::move(up).freeze()};
  return stack;
}

Status Adapters::check_all_taken() const {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    for (const auto& [module, pair] : pairs_[i]) {
      if (taken_.contains(module)) continue;
      return unimplemented("adapter \"{}\": the recipe of the model has no product \"{}\"",
                           names_[i], module);
    }
  }
  return ok_status();
}

}  // namespace sluice::recipes
