#include "compiler/provenance.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text/version.h"
#include "base/utf8.h"
#include "package/facts.h"
#include "package/header.h"
#include "recipes/recipe.h"

namespace sluice::compiler {
namespace {

namespace fs = std::filesystem;

bool has_recipe(const Source& source) {
  return !source.path.empty() && recipes::has_recipe(source.path);
}

/// A file as large as a language model leaves memory while it is read.
void add_in_pieces(std::span<const std::byte> bytes, package::Checksum& checksum) {
  constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const auto piece = bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at));
    checksum.add(piece);
    release_pages(piece);
  }
}

Result<std::string> digest_of(const Source& source) {
  package::Checksum checksum;
  if (source.path.empty()) {
    checksum.add(source.bytes);
  } else if (!has_recipe(source)) {
    add_in_pieces(SLUICE_TRY(map_file(source.path)).view(), checksum);
  } else {
    std::error_code error;
    for (const fs::path& file : recipes::files_of_model(source.path)) {
      if (!fs::exists(file, error)) continue;  // the list has optional files too
      add_in_pieces(SLUICE_TRY(map_file(file)).view(), checksum);
    }
  }
  return fmt::format("xxh3:{:016x}", checksum.value());
}

std::string name_of(const Source& source, const ir::Graph& graph) {
  if (!has_recipe(source)) return graph.main().name;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(source.path, error);  // of "." too
  return (fs::is_directory(whole, error) ? whole.filename() : whole.stem()).string();
}

/// Words of the options that were not left as they are.
class Words {
 public:
  template <typename Value>
  void add(std::string_view option, const Value& value, const Value& usual) {
    if (value != usual) words_.push_back(fmt::format("{} {}", option, value));
  }
  template <typename Value>
  void add(std::string_view option, const std::vector<Value>& values,
           const std::vector<Value>& usual) {
    if (values != usual) words_.push_back(fmt::format("{} {}", option, fmt::join(values, ",")));
  }
  void add_each(std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values) words_.push_back(fmt::format("{} {}", option, value));
  }
  void add_if(bool is_given, std::string_view words) {
    if (is_given) words_.emplace_back(words);
  }
  std::string text() const { return fmt::format("{}", fmt::join(words_, " ")); }

 private:
  std::vector<std::string> words_;
};

/// All options: a new one does not compile until it is listed here.
std::string words_of(const options::CompileFlags& flags) {
  const options::CompileFlags usual;
  const auto& [shapes, backends, overridable, optimize, places, operator_times, min_segment,
               max_segments, min_share, cuts, cores, executor, winograd, strassen, weights,
               kv_cache, adapters, graphs, architectures, code, emit, operators, pack,
               packed_only] = flags;
  Words words;
  // Always there, so that no package has an empty text.
  words.add_each("--backend", {fmt::format("{}", fmt::join(backends, ","))});
  words.add_each("--shape", shapes);
  words.add("--overridable", overridable, usual.overridable);
  words.add_if(!optimize, "--no-optimize");
  words.add_each("--place", places);
  words.add_if(!operator_times.empty(), "--operator-times FILE");
  words.add("--min-segment", min_segment, usual.min_segment);
  words.add("--max-segments", max_segments, usual.max_segments);
  words.add("--min-share", min_share, usual.min_share);
  words.add("--cut", cuts, usual.cuts);
  words.add("--cores", cores, usual.cores);
  words.add("--executor", executor, usual.executor);
  words.add_if(!winograd, "--no-winograd");
  words.add("--strassen", strassen, usual.strassen);
  words.add("--weights", weights, usual.weights);
  words.add("--kv-cache", kv_cache, usual.kv_cache);
  for (const std::string& adapter : adapters) {
    words.add_each("--adapter", {adapter.substr(0, adapter.find('=')) + "=FOLDER"});
  }
  words.add("--arch", architectures, usual.architectures);
  words.add_if(!code.empty(), "--code FOLDER");
  words.add_if(!operators.empty(), "--operators FILE");
  words.add_if(!pack, "--no-pack");
  words.add_if(packed_only, "--packed-only");
  // What they write lies beside the package, which is the same without them.
  static_cast<void>(graphs);
  static_cast<void>(emit);
  return words.text();
}

}  // namespace

Status add_source_facts(const Source& source, ir::Graph& graph) {
  if (source.graph) return ok_status();
  const std::string name = name_of(source, graph);
  if (check_name(name, "model").is_ok() && !name.empty()) {
    graph.metadata.insert_or_assign(package::kNameFact, name);
  }
  graph.metadata.insert_or_assign(package::kDigestFact, SLUICE_TRY(digest_of(source)));
  return ok_status();
}

std::map<std::string, std::string> compilation_facts(const options::CompileFlags& flags) {
  return {{package::kCompilerFact, fmt::format("sluice {}", kSluiceVersion)},
          {package::kOptionsFact, words_of(flags)}};
}

}  // namespace sluice::compiler
