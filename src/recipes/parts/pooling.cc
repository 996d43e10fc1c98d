#include "recipes/parts/pooling.h"

#include <limits>
#include <string>
#include <utility>

#include "recipes/parts/read_json.h"
#include "recipes/parts/settings.h"

namespace sluice::recipes {
namespace {

namespace fs = std::filesystem;
using ir::ElementType;

constexpr const char* kModules = "modules.json";
constexpr const char* kSentences = "sentence_bert_config.json";
constexpr const char* kPrompts = "config_sentence_transformers.json";
constexpr const char* kConfig = "config.json";
/// Folders of modules, by convention; `modules.json` names those that count.
constexpr const char* kFolders[] = {"1_Pooling", "2_Normalize", "2_Dense", "3_Normalize"};

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Status read_kind(Settings& settings, Pooling& pooling) {
  constexpr std::pair<const char*, Pooling::Kind> kKinds[] = {
      {"pooling_mode_mean_tokens", Pooling::Kind::kMean},
      {"pooling_mode_cls_token", Pooling::Kind::kFirst},
      {"pooling_mode_lasttoken", Pooling::Kind::kLast},
      {"pooling_mode_max_tokens", Pooling::Kind::kMax}};
  int count = 0;
  for (const auto& [name, kind] : kKinds) {
    if (!settings.flag_or(name, false)) continue;
    pooling.kind = kind;
    ++count;
  }
  // Prompts are cut off for some families alone, and texts have none here.
  settings.ignore({"word_embedding_dimension", "include_prompt"});
  SLUICE_TRY(settings.finish());
  if (count == 1) return ok_status();
  return unimplemented("{} ways of pooling at once; one is supported", count);
}

/// `type` is a Python class: "sentence_transformers.models.Pooling".
Status read_module(const fs::path& folder, Settings& module, Pooling& pooling) {
  const std::string type = module.text_or("type", "");
  const fs::path path = module.text_or("path", "");
  const std::string kind = type.substr(type.rfind('.') + 1);
  if (kind == "Transformer") return ok_status();
  if (kind == "Normalize") {
    pooling.is_normalized = true;
    return ok_status();
  }
  if (kind != "Pooling") {
    return unimplemented(
        "the module \"{}\" is not supported; Transformer, Pooling and Normalize are", type);
  }
  if (path.has_parent_path() || path == "..") {
    return invalid_argument("the path \"{}\" leads outside the folder", path.string());
  }
  auto json = read_json(folder / path / kConfig);
  Settings settings(SLUICE_TRY(std::move(json).with_context(path.string())));
  return read_kind(settings, pooling).with_context(path.string());
}

Status read_modules(const fs::path& folder, Pooling& pooling) {
  const nlohmann::json modules = SLUICE_TRY(read_json(folder / kModules));
  if (!modules.is_array()) return invalid_argument("expected a list of modules");
  for (const nlohmann::json& one : modules) {
    Settings module(one);
    SLUICE_TRY(read_module(folder, module, pooling));
  }
  return ok_status();
}

}  // namespace

Result<Pooling> read_pooling(const fs::path& folder) {
  Pooling pooling;
  if (is_there(folder / kModules)) {
    SLUICE_TRY(read_modules(folder, pooling).with_context(kModules));
  }
  if (is_there(folder / kSentences)) {
    auto json = read_json(folder / kSentences);
    Settings settings(SLUICE_TRY(std::move(json).with_context(kSentences)));
    if (settings.has("max_seq_length")) {
      pooling.max_tokens = settings.whole("max_seq_length", 1, std::int64_t{1} << 24);
    }
    settings.ignore({"do_lower_case"});  // tokenizer.json does it
    SLUICE_TRY(settings.finish().with_context(kSentences));
  }
  if (is_there(folder / kPrompts)) {
    auto json = read_json(folder / kPrompts);
    const nlohmann::json prompts = SLUICE_TRY(std::move(json).with_context(kPrompts));
    if (prompts.is_object() && !prompts.value("default_prompt_name", nlohmann::json()).is_null()) {
      return unimplemented("{}: a prompt before each text is not supported", kPrompts);
    }
  }
  return pooling;
}

std::vector<fs::path> files_of_pooling(const fs::path& folder) {
  std::vector<fs::path> files = {folder / kModules, folder / kSentences, folder / kPrompts};
  for (const char* name : kFolders) files.push_back(folder / name / kConfig);
  return files;
}

OperandId pool(Builder& build, const Pooling& pooling, OperandId x, OperandId mask) {
  const OperandId one = build.ints({1});
  const auto sum_of_mask = [&] {
    return build.op("ReduceSum", {mask, one}, {{"keepdims", std::int64_t{1}}});  // [N, 1]
  };
  OperandId y;
  switch (pooling.kind) {
    case Pooling::Kind::kFirst:
      y = build.op("Gather", {x, build.ints({0}, {})}, {{"axis", std::int64_t{1}}});
      break;
    case Pooling::Kind::kLast:
      y = build.op("GatherND", {x, build.op("Sub", {sum_of_mask(), one})},
                   {{"batch_dims", std::int64_t{1}}});
      break;
    case Pooling::Kind::kMax: {
      const OperandId seen =
          build.cast(build.op("Unsqueeze", {mask, build.ints({2})}), ElementType::kBool);
      const OperandId least = build.floats({std::numeric_limits<float>::lowest()}, {});
      y = build.op("ReduceMax", {build.op("Where", {seen, x, least}), one},
                   {{"keepdims", std::int64_t{0}}});
      break;
    }
    case Pooling::Kind::kMean: {
      const OperandId seen =
          build.cast(build.op("Unsqueeze", {mask, build.ints({2})}), ElementType::kF32);
      const OperandId sum =
          build.op("ReduceSum", {build.op("Mul", {x, seen}), one}, {{"keepdims", std::int64_t{0}}});
      const OperandId count = build.cast(sum_of_mask(), ElementType::kF32);
      y = build.op("Div", {sum, build.op("Max", {count, build.floats({1e-9F}, {})})});
      break;
    }
  }
  if (!pooling.is_normalized) return y;
  const OperandId length = build.op("ReduceL2", {y, one}, {{"keepdims", std::int64_t{1}}});
  return build.op("Div", {y, build.op("Max", {length, build.floats({1e-12F}, {})})});
}

}  // namespace sluice::recipes
