#include <vector>

#include "text/normalizers/bert.h"
#include "text/normalizers/characters.h"
#include "text/normalizers/normalizer.h"
#include "text/normalizers/precompiled.h"
#include "text/normalizers/replace.h"
#include "text/normalizers/unicode_form.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

using Read = Result<std::unique_ptr<const Normalizer>>;

class Sequence : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const Normalizer>> parts)
      : parts_(std::move(parts)) {}

  Status normalize(std::string& text, RegexBudget& budget) const override {
    for (const auto& part : parts_) {
      SLUICE_TRY(part->normalize(text, budget));
      SLUICE_TRY(check_working_size(text.size()));
    }
    return ok_status();
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> parts_;
};

/// Takes white space from the ends.
class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  Status normalize(std::string& text, RegexBudget& /*budget*/) const override {
    std::size_t begin = 0;
    while (left_ && begin < text.size()) {
      std::size_t at = begin;
      if (!is_white_space(next_character(text, at))) break;
      begin = at;
    }
    std::size_t end = text.size();
    while (right_ && end > begin) {
      std::size_t at = end;
      if (!is_white_space(previous_character(text, at))) break;
      end = at;
    }
    text = text.substr(begin, end - begin);
    return ok_status();
  }

 private:
  bool left_;
  bool right_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string_view prefix) : prefix_(prefix) {}

  Status normalize(std::string& text, RegexBudget& /*budget*/) const override {
    if (!text.empty()) text.insert(0, prefix_);
    return ok_status();
  }

 private:
  std::string prefix_;
};

Read read_sequence(const Field& field) {
  std::vector<std::unique_ptr<const Normalizer>> parts;
  const Field list = SLUICE_TRY(field.member("normalizers"));
  const auto items = SLUICE_TRY(list.items());
  for (const Field& item : items) parts.push_back(SLUICE_TRY(read_normalizer(item)));
  return std::unique_ptr<const Normalizer>(std::make_unique<Sequence>(std::move(parts)));
}

Read read_strip(const Field& field) {
  const bool left = SLUICE_TRY(field.truth_or("strip_left", true));
  const bool right = SLUICE_TRY(field.truth_or("strip_right", true));
  return std::unique_ptr<const Normalizer>(std::make_unique<Strip>(left, right));
}

Read read_prepend(const Field& field) {
  const auto prefix = SLUICE_TRY(field.text_of("prepend"));
  return std::unique_ptr<const Normalizer>(std::make_unique<Prepend>(prefix));
}

Read read_replace(const Field& field) {
  Replace replace = SLUICE_TRY(Replace::read(field));
  return std::unique_ptr<const Normalizer>(std::make_unique<Replace>(std::move(replace)));
}

}  // namespace

Read read_normalizer(const Field& field) {
  const auto kind = SLUICE_TRY(field.kind());
  if (kind == "NFC") return make_unicode_form(UnicodeForm::kNfc);
  if (kind == "NFD") return make_unicode_form(UnicodeForm::kNfd);
  if (kind == "NFKC") return make_unicode_form(UnicodeForm::kNfkc);
  if (kind == "NFKD") return make_unicode_form(UnicodeForm::kNfkd);
  if (kind == "Lowercase") return make_lowercase();
  if (kind == "StripAccents") return make_strip_accents();
  if (kind == "Nmt") return make_nmt();
  if (kind == "ByteLevel") return make_byte_level();
  if (kind == "Strip") return read_strip(field);
  if (kind == "Prepend") return read_prepend(field);
  if (kind == "Replace") return read_replace(field);
  if (kind == "BertNormalizer") return read_bert_normalizer(field);
  if (kind == "Precompiled") return read_precompiled(field);
  if (kind == "Sequence") return read_sequence(field);
  return field.unknown_kind(kind);
}

}  // namespace sluice::text
