#include "recipes/recipe.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "base/file.h"
#include "recipes/embedding_facts.h"
#include "recipes/families/families.h"
#include "recipes/generation_facts.h"
#include "recipes/gguf/gguf_settings.h"
#include "recipes/gguf/gguf_text_files.h"
#include "recipes/parts/pooling.h"
#include "recipes/parts/read_json.h"
#include "weights/folder.h"
#include "weights/gguf/gguf.h"

namespace sluice::recipes {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kGeneration = "generation_config.json";
constexpr std::array kTextFiles = {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                                   "special_tokens_map.json"};

/// One of `decoder` and `encoder` is there.
struct Family {
  std::string_view name;  ///< model_type of config.json
  DecoderShape (*decoder)(Settings& settings) = nullptr;
  EncoderShape (*encoder)(Settings& settings) = nullptr;
};

constexpr Family kFamilies[] = {{"llama", read_llama},
                                {"mistral", read_mistral},
                                {"qwen2", read_qwen2},
                                {"qwen3", read_qwen3},
                                {"mixtral", read_mixtral},
                                {"qwen2_moe", read_qwen2_moe},
                                {"qwen3_moe", read_qwen3_moe},
                                {"gpt2", read_gpt2},
                                {"phi3", read_phi3},
                                {"smollm3", read_smollm3},
                                {"gemma", read_gemma},
                                {"gemma2", read_gemma2},
                                {"gemma3_text", read_gemma3},
                                {"bert", nullptr, read_bert},
                                {"roberta", nullptr, read_roberta},
                                {"xlm-roberta", nullptr, read_roberta},
                                {"distilbert", nullptr, read_distilbert}};

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

Result<Family> family_of(const nlohmann::json& config) {
  Settings settings(config);
  const std::string name = settings.text_or("model_type", "");
  if (!config.is_object()) return settings.finish();
  if (!settings.has("model_type")) return invalid_argument("model_type: missing");
  const auto* family = std::ranges::find(kFamilies, name, &Family::name);
  if (family != std::end(kFamilies)) return *family;
  return unimplemented("model_type: there is no recipe for \"{}\"; there are {}", name,
                       family_names());
}

template <typename Shape>
Result<Shape> read_shape(const nlohmann::json& config, Shape (*read)(Settings& settings)) {
  Settings settings(config);
  ignore_history(settings);
  Shape shape = read(settings);
  SLUICE_TRY(settings.finish());
  return shape;
}

/// How a model that generates texts is made.
struct Wishes {
  ir::ElementType cache = ir::ElementType::kF32;
  std::span<const AdapterSource> adapters;
};

/// The graph of a family that generates texts. `generation`: as generation_config.json has it.
Result<ir::Graph> make_generator(const nlohmann::json& config, const nlohmann::json& generation,
                                 const weights::Weights& weights, const Family& family,
                                 const Wishes& wishes) {
  auto read = read_shape(config, family.decoder);
  DecoderShape shape = SLUICE_TRY(std::move(read).with_context(kConfig));
  shape.cache = wishes.cache;
  Adapters adapters = SLUICE_TRY(Adapters::open(wishes.adapters));
  // Adapters have the order of transformers, as safetensors have.
  if (shape.is_interleaved) {
    for (const auto name : {shape.names.query, shape.names.key}) {
      adapters.pair_rows(name, shape.head_size);
    }
  }
  ir::Graph graph = SLUICE_TRY(make_decoder(shape, weights, adapters));
  // The first dimension of the inputs are tokens of one sequence, not requests that may be joined.
  graph.metadata.erase("batch_symbol");
  graph.metadata[kGenerationFact] =
      SLUICE_TRY(generation_facts(config, generation, shape.context, adapters.names()));
  return graph;
}

Result<ir::Graph> read_decoder_folder(const fs::path& folder, const nlohmann::json& config,
                                      const Family& family, const Wishes& wishes) {
  const weights::Weights weights = SLUICE_TRY(weights::open_folder(folder));
  nlohmann::json generation = nlohmann::json::object();
  std::error_code error;
  if (fs::exists(folder / kGeneration, error)) {
    auto settings = read_json(folder / kGeneration);
    generation = SLUICE_TRY(std::move(settings).with_context(kGeneration));
  }
  return make_generator(config, generation, weights, family, wishes);
}

/// The graph of a family that makes vectors of texts, or scores of pairs.
Result<ir::Graph> read_encoder_folder(const fs::path& folder, const nlohmann::json& config,
                                      const Family& family) {
  auto read = read_shape(config, family.encoder);
  const EncoderShape shape = SLUICE_TRY(std::move(read).with_context(kConfig));
  const Pooling pooling = SLUICE_TRY(read_pooling(folder));
  const weights::Weights weights = SLUICE_TRY(weights::open_folder(folder));
  ir::Graph graph = SLUICE_TRY(make_encoder(shape, pooling, weights));
  graph.metadata[kEmbeddingFact] = embedding_facts(shape, pooling);
  return graph;
}

Result<Model> read_folder(const fs::path& folder, const Wishes& wishes) {
  auto json = read_json(folder / kConfig);
  const nlohmann::json config = SLUICE_TRY(std::move(json).with_context(kConfig));
  auto found = family_of(config);
  const Family family = SLUICE_TRY(std::move(found).with_context(kConfig));
  if (family.decoder == nullptr && !wishes.adapters.empty()) {
    return unimplemented("adapters are for models that generate texts; \"{}\" makes vectors",
                         family.name);
  }
  Model model;
  model.graph =
      SLUICE_TRY(family.decoder != nullptr ? read_decoder_folder(folder, config, family, wishes)
                                           : read_encoder_folder(folder, config, family));
  model.graph.metadata["producer"] = "sluice recipe " + std::string(family.name);
  std::error_code error;
  for (const char* name : kTextFiles) {
    if (!fs::exists(folder / name, error)) continue;
    model.files.emplace(name, SLUICE_TRY(map_file(folder / name)));
  }
  return model;
}

Result<Model> read_gguf_file(const fs::path& path, const Wishes& wishes) {
  const Bytes file = SLUICE_TRY(map_file(path));
  const weights::Gguf gguf = SLUICE_TRY(weights::read_gguf(file));
  const nlohmann::json config = SLUICE_TRY(gguf_config(gguf.metadata, gguf.weights));
  const Family family = SLUICE_TRY(family_of(config));
  const weights::Weights weights =
      SLUICE_TRY(with_names_of_transformers(gguf.metadata, gguf.weights));
  Model model;
  model.graph =
      SLUICE_TRY(make_generator(config, gguf_sampling(gguf.metadata), weights, family, wishes));
  model.graph.metadata["producer"] = "sluice recipe " + std::string(family.name);
  model.files = SLUICE_TRY(gguf_text_files(gguf.metadata));
  return model;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_gguf(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::string begin(weights::kGgufMagic.size(), '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin));
  return begin == weights::kGgufMagic;
}

}  // namespace

bool has_recipe(const fs::path& path) { return is_folder(path) || is_gguf(path); }

Result<Model> read_model(const fs::path& path, ir::ElementType cache,
                         std::span<const AdapterSource> adapters) {
  const Wishes wishes = {cache, adapters};
  return is_folder(path) ? read_folder(path, wishes) : read_gguf_file(path, wishes);
}

std::vector<fs::path> files_of_model(const fs::path& path) {
  if (!is_folder(path)) return {path};
  std::vector<fs::path> files = {path / kConfig, path / kGeneration};
  for (fs::path& file : weights::files_of(path)) files.push_back(std::move(file));
  for (const char* name : kTextFiles) files.push_back(path / name);
  for (fs::path& file : files_of_pooling(path)) files.push_back(std::move(file));
  return files;
}

}  // namespace sluice::recipes
