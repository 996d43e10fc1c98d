#include "recipes/recipe.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/file.h"
#include "base/json/json_reader.h"
#include "recipes/families/families.h"
#include "recipes/generation_facts.h"
#include "weights/folder.h"

namespace sluice::recipes {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kGeneration = "generation_config.json";
constexpr std::int64_t kMaxConfigBytes = std::int64_t{1} << 20;
constexpr std::array kTextFiles = {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                                   "special_tokens_map.json"};

struct Family {
  std::string_view name;  ///< model_type of config.json
  DecoderShape (*read)(Settings& settings);
};

constexpr Family kFamilies[] = {
    {"llama", read_llama}, {"mistral", read_mistral}, {"qwen2", read_qwen2}, {"qwen3", read_qwen3}};

std::string family_names() {
  std::string names;
  for (const Family& family : kFamilies) {
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  }
  return names;
}

/// They say how the model was trained, made or is run elsewhere.
void ignore_history(Settings& settings) {
  settings.ignore({"architectures", "attention_dropout", "bos_token_id", "eos_token_id",
                   "pad_token_id", "initializer_range", "model_type", "torch_dtype", "dtype",
                   "transformers_version", "use_cache", "transformers.js_config"});
}

Result<nlohmann::json> read_json(const fs::path& path) {
  return parse_json(SLUICE_TRY(read_text_file(path, kMaxConfigBytes)));
}

Result<DecoderShape> read_shape(const nlohmann::json& config) {
  Settings settings(config);
  const std::string name = settings.text_or("model_type", "");
  if (!config.is_object()) return settings.finish();
  SLUICE_TRY(
      Status(settings.has("model_type") ? ok_status() : invalid_argument("model_type: missing")));
  const auto* family = std::ranges::find(kFamilies, name, &Family::name);
  if (family == std::end(kFamilies)) {
    return unimplemented("model_type: there is no recipe for \"{}\"; there are {}", name,
                         family_names());
  }
  ignore_history(settings);
  DecoderShape shape = family->read(settings);
  SLUICE_TRY(settings.finish());
  return shape;
}

}  // namespace

bool is_model_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Result<Model> read_model_folder(const fs::path& folder) {
  auto json = read_json(folder / kConfig);
  const nlohmann::json config = SLUICE_TRY(std::move(json).with_context(kConfig));
  auto read = read_shape(config);
  const DecoderShape shape = SLUICE_TRY(std::move(read).with_context(kConfig));
  const weights::Weights weights = SLUICE_TRY(weights::open_folder(folder));
  Model model;
  model.graph = SLUICE_TRY(make_decoder(shape, weights));
  // The first dimension of the inputs are tokens of one sequence, not requests that may be joined.
  model.graph.metadata.erase("batch_symbol");
  model.graph.metadata["producer"] = "sluice recipe " + config["model_type"].get<std::string>();
  nlohmann::json generation = nlohmann::json::object();
  std::error_code error;
  if (fs::exists(folder / kGeneration, error)) {
    auto settings = read_json(folder / kGeneration);
    generation = SLUICE_TRY(std::move(settings).with_context(kGeneration));
  }
  model.graph.metadata[kGenerationFact] =
      SLUICE_TRY(generation_facts(config, generation, shape.context));
  for (const char* name : kTextFiles) {
    if (!fs::exists(folder / name, error)) continue;
    model.files.emplace(name, SLUICE_TRY(map_file(folder / name)));
  }
  return model;
}

std::vector<fs::path> files_of_model(const fs::path& folder) {
  std::vector<fs::path> files = weights::files_of(folder);
  for (const char* name : {kConfig, kGeneration}) files.push_back(folder / name);
  for (const char* name : kTextFiles) files.push_back(folder / name);
  return files;
}

}  // namespace sluice::recipes
