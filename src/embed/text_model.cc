#include "embed/text_model.h"

#include <algorithm>
#include <utility>

#include "base/json/json_reader.h"
#include "base/text/plural.h"

namespace sluice::embed {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 24;

Result<Facts> parse_facts(const std::string& text) {
  const nlohmann::json json = SLUICE_TRY(parse_json(text));
  const JsonValue value(json, "");
  Facts facts;
  const JsonValue context = SLUICE_TRY(value.field("context"));
  facts.context = SLUICE_TRY(context.as_int(1, kMost));
  const JsonValue padding = SLUICE_TRY(value.field("padding"));
  facts.padding = SLUICE_TRY(padding.as_int(0, kMost));
  const auto normalized = json.find("normalized");
  facts.is_normalized = normalized != json.end() && *normalized == true;
  return facts;
}

std::optional<std::size_t> find(const std::vector<terms::TensorSpec>& specs,
                                std::string_view name) {
  const auto found = std::ranges::find(specs, name, &terms::TensorSpec::name);
  if (found == specs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - specs.begin());
}

Result<Ports> find_ports(const terms::Signature& signature) {
  const auto ids = find(signature.inputs, "ids");
  const auto mask = find(signature.inputs, "mask");
  const auto vectors = find(signature.outputs, "vectors");
  const auto scores = find(signature.outputs, "scores");
  if (!ids || !mask || (!vectors && !scores)) {
    return invalid_argument(
        "the model needs inputs \"ids\" and \"mask\", and an output \"vectors\" or \"scores\"; "
        "compile it again from its folder");
  }
  Ports ports = {*ids, *mask, find(signature.inputs, "types"), vectors.value_or(scores.value_or(0)),
                 0};
  const ir::Type& type = signature.outputs[ports.result].type;
  const ir::Shape* shape = type.shape();
  const ir::Shape* rows = signature.inputs[ports.ids].type.shape();
  const std::size_t rank = vectors ? 2 : 1;
  const bool is_row_per_text = shape != nullptr && shape->size() == rank && rows != nullptr &&
                               rows->size() == 2 && shape->front() == rows->front();
  const auto has_width = [](const ir::Dim& dim) {
    return dim.is_known() && dim.value() >= 1 && dim.value() <= kMost;
  };
  if (type.element() != ir::ElementType::kF32 || !is_row_per_text ||
      (vectors && !has_width(shape->back()))) {
    return invalid_argument("the model's output is {}, not {} for the texts of \"ids\"",
                            type.to_string(), vectors ? "f32[texts, width]" : "f32[texts]");
  }
  if (vectors) ports.width = shape->back().value();
  return ports;
}

Status check_context(std::int64_t count, const Facts& facts, const char* what) {
  if (count <= facts.context) return ok_status();
  return make_error(Code::kOutOfRange, "the {} has {}; the model takes {}", what,
                    counted(count, "token"), facts.context);
}

Result<text::Encoding> checked(text::Encoding encoding, const Facts& facts, const char* what) {
  if (encoding.ids.empty()) return invalid_argument("the {} has no tokens", what);
  SLUICE_TRY(check_context(std::ssize(encoding.ids), facts, what));
  return encoding;
}

/// Cuts `ids` as `length` says, so that what `join` makes of them, with special tokens, fits.
template <typename Join>
text::Encoding fitted(std::vector<text::TokenId>& ids, const Join& join, std::int64_t context,
                      Length length) {
  const auto cut = [&](std::int64_t most) {
    if (std::ssize(ids) > most) ids.resize(static_cast<std::size_t>(most));
  };
  if (length.most_own_tokens > 0) cut(length.most_own_tokens);
  text::Encoding encoding = join();
  const std::int64_t excess = std::ssize(encoding.ids) - context;
  if (!length.is_cut_to_context || excess <= 0) return encoding;
  cut(std::max(std::ssize(ids) - excess, std::int64_t{0}));
  return join();
}

}  // namespace

bool is_text_model(const package::Executable& executable) {
  return executable.graph.metadata.contains(kFact);
}

Result<TextModel> TextModel::read(const package::Executable& executable,
                                  const terms::Signature& signature, text::Tokenizer tokenizer) {
  const auto fact = executable.graph.metadata.find(kFact);
  if (fact == executable.graph.metadata.end()) {
    return invalid_argument(
        "the model makes no vectors of texts and no scores: its package has no fact \"{}\"", kFact);
  }
  const Facts facts = SLUICE_TRY(parse_facts(fact->second).with_context(kFact));
  const Ports ports = SLUICE_TRY(find_ports(signature));
  return TextModel{facts, ports, std::move(tokenizer)};
}

Result<text::Encoding> TextModel::encode(std::string_view text, Length length) const {
  auto ids = SLUICE_TRY(tokenizer.read_tokens(text));
  return checked(fitted(
                     ids, [&] { return tokenizer.join(ids, nullptr); }, facts.context, length),
                 facts, "text");
}

Result<std::vector<text::TokenId>> TextModel::read_query(std::string_view query) const {
  auto ids = SLUICE_TRY(tokenizer.read_tokens(query));
  SLUICE_TRY(check_context(std::ssize(ids), facts, "text"));
  return ids;
}

Result<text::Encoding> TextModel::encode_pair(const std::vector<text::TokenId>& query,
                                              std::string_view document, Length length) const {
  auto ids = SLUICE_TRY(tokenizer.read_tokens(document));
  return checked(fitted(
                     ids, [&] { return tokenizer.join(query, &ids); }, facts.context, length),
                 facts, "pair of texts");
}

Result<text::Encoding> TextModel::check(std::span<const std::int64_t> ids) const {
  const std::int64_t count = std::ssize(ids);
  if (count == 0) return invalid_argument("the text has no tokens");
  SLUICE_TRY(check_context(count, facts, "text"));
  text::Encoding encoding;
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= static_cast<std::int64_t>(tokenizer.end_id())) {
      return invalid_argument("the id {} is no token of the model", id);
    }
    encoding.ids.emplace_back(static_cast<std::int32_t>(id));
  }
  encoding.type_ids.resize(encoding.ids.size());
  return encoding;
}

}  // namespace sluice::embed
