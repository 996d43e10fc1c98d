#include "recipes/gguf/gguf_text_files.h"

#include <span>
#include <utility>

#include "recipes/gguf/vocabulary.h"
#include "recipes/gguf/word_cutters.h"

namespace sluice::recipes {
namespace {

using nlohmann::json;

Bytes bytes_of(const json& value) {
  const std::string text = value.dump();
  return MutableBytes::copy_of(std::as_bytes(std::span(text))).freeze();
}

/// Matched in a text before it is cut into words.
json added_tokens_of(const Vocabulary& vocabulary) {
  json tokens = json::array();
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
    const TokenKind kind = vocabulary.kinds[i];
    const bool is_special = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    if (!is_special && kind != TokenKind::kUserDefined) continue;
    tokens.push_back({{"id", i},
                      {"content", vocabulary.pieces[i]},
                      {"special", is_special},
                      {"normalized", false}});
  }
  return tokens;
}

json vocabulary_json(const Vocabulary& vocabulary) {
  json ids = json::object();
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) ids[vocabulary.pieces[i]] = i;
  return ids;
}

/// Words of bytes that are spelled as printable characters.
Result<json> byte_level(const json& metadata, const Vocabulary& vocabulary) {
  const WordCutter& cutter = *SLUICE_TRY(word_cutter_of(metadata));
  const json& merges = *SLUICE_TRY(texts_of(metadata, "tokenizer.ggml.merges"));
  return json{{"normalizer", cutter.is_composed ? json{{"type", "NFC"}} : json()},
              {"pre_tokenizer", pre_tokenizer_of(cutter)},
              {"decoder", {{"type", "ByteLevel"}}},
              {"model",
               {{"type", "BPE"},
                {"ignore_merges", cutter.takes_whole_words},
                {"vocab", vocabulary_json(vocabulary)},
                {"merges", merges}}}};
}

/// SentencePiece's tokens with scores: two pieces merge if the whole is a token, the one with the
/// highest score first.
Result<json> scored_pieces(const json& metadata, const Vocabulary& vocabulary) {
  if (flag_or(metadata, "tokenizer.ggml.remove_extra_whitespaces", false)) {
    return unimplemented("tokenizer.ggml.remove_extra_whitespaces: true is not supported");
  }
  constexpr const char* kSpace = "\u2581";
  json normalizers = json::array();
  if (flag_or(metadata, "tokenizer.ggml.add_space_prefix", true)) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  }
  normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}});
  json decoders = {{{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}}};
  if (normalizers.size() > 1) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  json merges = SLUICE_TRY(merges_by_score(metadata, vocabulary));
  json model = {{"type", "BPE"},
                {"byte_fallback", true},
                {"fuse_unk", true},
                {"vocab", vocabulary_json(vocabulary)},
                {"merges", std::move(merges)}};
  if (const auto* unknown = vocabulary.find_special("unknown")) model["unk_token"] = *unknown;
  return json{{"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
              {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
              {"model", model}};
}

/// The tokens that stand before and behind a text.
json post_processor_of(const Vocabulary& vocabulary, bool adds_begin, bool adds_end) {
  json special_tokens = json::object();
  const auto special = [&](const char* role, json& parts) {
    const std::string* piece = vocabulary.find_special(role);
    if (piece == nullptr) return;
    parts.push_back({{"SpecialToken", {{"id", *piece}, {"type_id", 0}}}});
    special_tokens[*piece] = {
        {"id", *piece}, {"ids", {vocabulary.special.at(role)}}, {"tokens", {*piece}}};
  };
  json single = json::array();
  json pair = json::array();
  for (const char* sequence : {"A", "B"}) {
    json parts = json::array();
    if (adds_begin) special("bos", parts);
    parts.push_back({{"Sequence", {{"id", sequence}, {"type_id", 0}}}});
    if (adds_end) special("eos", parts);
    if (single.empty()) single = parts;
    for (const json& part : parts) pair.push_back(part);
  }
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", special_tokens}};
}

json tokenizer_config_of(const json& metadata, const Vocabulary& vocabulary) {
  constexpr std::pair<const char*, const char*> kRoles[] = {{"bos", "bos_token"},
                                                            {"eos", "eos_token"},
                                                            {"unknown", "unk_token"},
                                                            {"padding", "pad_token"}};
  json config = json::object();
  for (const auto& [role, name] : kRoles) {
    if (const std::string* piece = vocabulary.find_special(role)) config[name] = *piece;
  }
  const auto found = metadata.find("tokenizer.chat_template");
  if (found != metadata.end() && found->is_string()) config["chat_template"] = *found;
  return config;
}

}  // namespace

Result<std::map<std::string, Bytes>> gguf_text_files(const json& metadata) {
  const std::string kind = text_or(metadata, "tokenizer.ggml.model", "no_vocab");
  if (kind == "no_vocab" || kind == "none") return std::map<std::string, Bytes>();
  if (kind != "gpt2" && kind != "llama") {
    return unimplemented("tokenizer.ggml.model: \"{}\" is not supported; gpt2 and llama are", kind);
  }
  const Vocabulary vocabulary = SLUICE_TRY(read_vocabulary(metadata));
  const bool is_scored = kind == "llama";
  json tokenizer = SLUICE_TRY(is_scored ? scored_pieces(metadata, vocabulary)
                                        : byte_level(metadata, vocabulary));
  bool adds_begin = is_scored;
  if (!is_scored) adds_begin = SLUICE_TRY(word_cutter_of(metadata))->adds_begin;
  tokenizer["version"] = "1.0";
  tokenizer["added_tokens"] = added_tokens_of(vocabulary);
  tokenizer["post_processor"] =
      post_processor_of(vocabulary, flag_or(metadata, "tokenizer.ggml.add_bos_token", adds_begin),
                        flag_or(metadata, "tokenizer.ggml.add_eos_token", false));
  std::map<std::string, Bytes> files;
  files.emplace("tokenizer.json", bytes_of(tokenizer));
  files.emplace("tokenizer_config.json", bytes_of(tokenizer_config_of(metadata, vocabulary)));
  return files;
}

}  // namespace sluice::recipes
