#include "text/normalizers/normalizer.h"
#include "text/pre_tokenizers/byte_level.h"
#include "text/pre_tokenizers/characters.h"
#include "text/pre_tokenizers/metaspace.h"
#include "text/pre_tokenizers/pre_tokenizer.h"
#include "text/pre_tokenizers/split.h"

namespace sluice::text {
namespace {

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const PreTokenizer>> parts)
      : parts_(std::move(parts)) {}

  Status split(Pieces& pieces, RegexBudget& budget) const override {
    for (const auto& part : parts_) {
      SLUICE_TRY(part->split(pieces, budget));
      SLUICE_TRY(check_working_size(pieces.text.size()));
    }
    return ok_status();
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

Result<std::unique_ptr<const PreTokenizer>> read_sequence(const Field& field) {
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  const Field list = SLUICE_TRY(field.member("pretokenizers"));
  const auto items = SLUICE_TRY(list.items());
  for (const Field& part : items) {
    parts.push_back(SLUICE_TRY(read_pre_tokenizer(part)));
  }
  return std::unique_ptr<const PreTokenizer>(std::make_unique<Sequence>(std::move(parts)));
}

}  // namespace

Result<std::unique_ptr<const PreTokenizer>> read_pre_tokenizer(const Field& field) {
  const auto kind = SLUICE_TRY(field.kind());
  if (kind == "ByteLevel") return read_byte_level(field);
  if (kind == "Split") return read_split(field);
  if (kind == "Metaspace") return read_metaspace(field);
  if (kind == "Digits") return read_digits(field);
  if (kind == "Punctuation") return read_punctuation(field);
  if (kind == "Whitespace") return make_whitespace();
  if (kind == "WhitespaceSplit") return make_whitespace_split();
  if (kind == "BertPreTokenizer") return make_bert_pre_tokenizer();
  if (kind == "Sequence") return read_sequence(field);
  return field.unknown_kind(kind);
}

}  // namespace sluice::text
