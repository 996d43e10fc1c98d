// The expressions are those of the models' own tokenizer.json; a name that llama.cpp gives several
// models, whose ways are equal, stands for each.
#include "recipes/gguf/word_cutters.h"

#include <string>

#include "recipes/gguf/vocabulary.h"

namespace sluice::recipes {
namespace {

using nlohmann::json;

constexpr std::string_view kLlama3 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+"
    "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kQwen2 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"
    "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kTekken =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

struct Named {
  std::string_view name;
  WordCutter cutter;
};

constexpr Named kCutters[] = {
    {"gpt-2", {"", false, false, false, false}},
    {"smollm", {"", true, false, false, false}},
    {"starcoder", {"", true, false, false, false}},
    {"refact", {"", true, false, false, false}},
    {"llama-bpe", {kLlama3, false, false, true, true}},
    {"qwen2", {kQwen2, false, true, false, false}},
    {"deepseek-r1-qwen", {kQwen2, false, true, false, true}},
    {"tekken", {kTekken, false, false, true, true}},
};

}  // namespace

Result<const WordCutter*> word_cutter_of(const json& metadata) {
  const std::string name = text_or(metadata, "tokenizer.ggml.pre", "");
  std::string names;
  for (const Named& known : kCutters) {
    if (known.name == name) return &known.cutter;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return unimplemented("tokenizer.ggml.pre: the way \"{}\" to cut words is not known; known are {}",
                       name, names);
}

json pre_tokenizer_of(const WordCutter& cutter) {
  json parts = json::array();
  if (cutter.has_single_digits) {
    parts.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  if (!cutter.expression.empty()) {
    parts.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", cutter.expression}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  parts.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"use_regex", cutter.expression.empty()}});
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

}  // namespace sluice::recipes
