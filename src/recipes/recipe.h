// From a folder as Hugging Face's hub has them, or a GGUF file, to a graph: settings, weights, and
// the files that say how to make tokens of text.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "ir/graph.h"
#include "recipes/parts/adapter_source.h"

namespace sluice::recipes {

/// A graph (parts/decoder.h says which), and files that travel with it.
struct Model {
  ir::Graph graph;
  std::map<std::string, Bytes> files;  ///< "tokenizer.json", "tokenizer_config.json", ..
};

/// Whether the path is a folder or begins as a GGUF file, and so no ONNX file.
bool has_recipe(const std::filesystem::path& path);

/// The graph's constants are slices of mapped files, which must not change while they are used.
/// `cache`: f32, f16 or i8, in which a model that generates texts keeps keys and values.
/// `adapters`: that a text may ask for, of such a model.
/// Fails: kNotFound         config.json or weights are missing
///        kInvalidArgument  a damaged file; a setting or weight that does not fit the others
///        kUnimplemented    a family, a setting or a weight that no recipe knows, by name
Result<Model> read_model(const std::filesystem::path& path,
                         ir::ElementType cache = ir::ElementType::kF32,
                         std::span<const AdapterSource> adapters = {});

/// All files that `read_model` reads; the first one has the model's settings.
std::vector<std::filesystem::path> files_of_model(const std::filesystem::path& path);

}  // namespace sluice::recipes
