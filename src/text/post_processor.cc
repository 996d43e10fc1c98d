#include "text/post_processor.h"

#include <algorithm>

namespace sluice::text {
namespace {

Result<TokenId> token_id(const Field& field) {
  const std::int64_t id = SLUICE_TRY(field.whole());
  if (id < 0 || id >= kMaxTokenId) return field.error("an id that no vocabulary has");
  return TokenId(static_cast<std::int32_t>(id));
}

/// ["[CLS]", 101]
Result<TokenId> id_of_pair(const Field& field) {
  const auto items = SLUICE_TRY(field.items());
  if (items.size() != 2) return field.error("expected a token and its id");
  return token_id(items[1]);
}

Result<std::int32_t> type_id_of(const Field& field) {
  const std::int64_t id = SLUICE_TRY(field.whole_or("type_id", 0));
  if (id < 0 || id >= kMaxTokenId) return field.error("the type id is too large");
  return static_cast<std::int32_t>(id);
}

}  // namespace

PostProcessor::PostProcessor()
    : single_{{Source::kFirst, 0, {}}}, pair_{{Source::kFirst, 0, {}}, {Source::kSecond, 1, {}}} {}

Result<PostProcessor> PostProcessor::read(const Field& field) {
  const auto kind = SLUICE_TRY(field.kind());
  if (kind == "ByteLevel") return PostProcessor();  // it changes offsets, which nobody asks for
  if (kind == "TemplateProcessing") return read_templates(field);
  if (kind == "BertProcessing") return read_frame(field, false);
  if (kind == "RobertaProcessing") return read_frame(field, true);
  if (kind == "Sequence") return read_sequence(field);
  return field.unknown_kind(kind);
}

Result<std::vector<PostProcessor::Part>> PostProcessor::read_template(const Field& field,
                                                                      const Field& special_tokens) {
  std::vector<Part> parts;
  const auto items = SLUICE_TRY(field.items());
  for (const Field& item : items) {
    if (const auto sequence = item.find("Sequence")) {
      const auto name = SLUICE_TRY(sequence->text_of("id"));
      if (name != "A" && name != "B") return sequence->error("a sequence is A or B");
      parts.push_back({name == "A" ? Source::kFirst : Source::kSecond, 0, {}});
      parts.back().type_id = SLUICE_TRY(type_id_of(*sequence));
      continue;
    }
    const Field special = SLUICE_TRY(item.member("SpecialToken"));
    parts.push_back({Source::kSpecial, 0, {}});
    parts.back().type_id = SLUICE_TRY(type_id_of(special));
    const auto name = SLUICE_TRY(special.text_of("id"));
    const Field token = SLUICE_TRY(special_tokens.member(name));
    const Field ids = SLUICE_TRY(token.member("ids"));
    const auto numbers = SLUICE_TRY(ids.items());
    for (const Field& id : numbers) parts.back().ids.push_back(SLUICE_TRY(token_id(id)));
  }
  return parts;
}

Result<PostProcessor> PostProcessor::read_templates(const Field& field) {
  PostProcessor read;
  const Field special_tokens = SLUICE_TRY(field.member("special_tokens"));
  const Field single = SLUICE_TRY(field.member("single"));
  const Field pair = SLUICE_TRY(field.member("pair"));
  read.single_ = SLUICE_TRY(read_template(single, special_tokens));
  read.pair_ = SLUICE_TRY(read_template(pair, special_tokens));
  read.is_plain_ = false;
  const auto is_second = [](const Part& part) { return part.source == Source::kSecond; };
  if (std::ranges::any_of(read.single_, is_second)) return single.error("it has a second text");
  return read;
}

Result<PostProcessor> PostProcessor::read_frame(const Field& field, bool is_roberta) {
  const TokenId cls = SLUICE_TRY(id_of_pair(SLUICE_TRY(field.member("cls"))));
  const TokenId sep = SLUICE_TRY(id_of_pair(SLUICE_TRY(field.member("sep"))));
  PostProcessor read;
  read.is_plain_ = false;
  const std::int32_t second = is_roberta ? 0 : 1;
  read.single_ = {
      {Source::kSpecial, 0, {cls}}, {Source::kFirst, 0, {}}, {Source::kSpecial, 0, {sep}}};
  read.pair_ = read.single_;
  if (is_roberta) read.pair_.push_back({Source::kSpecial, 0, {sep}});
  read.pair_.push_back({Source::kSecond, second, {}});
  read.pair_.push_back({Source::kSpecial, second, {sep}});
  return read;
}

Result<PostProcessor> PostProcessor::read_sequence(const Field& field) {
  PostProcessor read;
  const Field list = SLUICE_TRY(field.member("processors"));
  const auto items = SLUICE_TRY(list.items());
  for (const Field& item : items) {
    PostProcessor part = SLUICE_TRY(PostProcessor::read(item));
    if (part.is_plain_) continue;
    if (!read.is_plain_) return item.error("a second processor that adds tokens is not supported");
    read = std::move(part);
  }
  return read;
}

Encoding PostProcessor::join(const std::vector<TokenId>& first, const std::vector<TokenId>* second,
                             bool adds_special_tokens) const {
  Encoding joined;
  for (const Part& part : second == nullptr ? single_ : pair_) {
    if (part.source == Source::kSpecial && !adds_special_tokens) continue;
    const std::vector<TokenId>& ids = part.source == Source::kFirst    ? first
                                      : part.source == Source::kSecond ? *second
                                                                       : part.ids;
    joined.ids.insert(joined.ids.end(), ids.begin(), ids.end());
    joined.type_ids.resize(joined.ids.size(), part.type_id);
  }
  return joined;
}

}  // namespace sluice::text
