#include "text/normalizers/bert.h"

#include "text/normalizers/characters.h"
#include "text/normalizers/unicode_form.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

/// Unicode's blocks of CJK ideographs, as BERT lists them.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_control(char32_t c) {
  return c == 0xFFFD || (c != '\t' && c != '\n' && c != '\r' && is_other(c));
}

class Bert : public Normalizer {
 public:
  Bert(bool cleans, bool spaces_ideographs, bool strips_accents, bool lowers)
      : cleans_(cleans),
        spaces_ideographs_(spaces_ideographs),
        strips_accents_(strips_accents),
        lowers_(lowers) {}

  Status normalize(std::string& text, RegexBudget& /*budget*/) const override {
    if (cleans_ || spaces_ideographs_) text = clean(text);
    if (strips_accents_) {
      text = SLUICE_TRY(to_unicode_form(text, UnicodeForm::kNfd));
      text = without_marks(text);
    }
    if (lowers_) text = to_lower_case(text);
    return ok_status();
  }

 private:
  std::string clean(std::string_view text) const {
    std::string to;
    to.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      char32_t c = next_character(text, at);
      if (cleans_ && is_control(c)) continue;
      if (cleans_ && is_white_space(c)) c = ' ';
      const bool has_spaces = spaces_ideographs_ && is_ideograph(c);
      if (has_spaces) to += ' ';
      append_character(to, c);
      if (has_spaces) to += ' ';
    }
    return to;
  }

  static std::string without_marks(std::string_view text) {
    std::string to;
    to.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const char32_t c = next_character(text, at);
      if (!is_nonspacing_mark(c)) append_character(to, c);
    }
    return to;
  }

  bool cleans_;
  bool spaces_ideographs_;
  bool strips_accents_;
  bool lowers_;
};

}  // namespace

Result<std::unique_ptr<const Normalizer>> read_bert_normalizer(const Field& field) {
  const bool cleans = SLUICE_TRY(field.truth_or("clean_text", true));
  const bool spaces_ideographs = SLUICE_TRY(field.truth_or("handle_chinese_chars", true));
  const bool lowers = SLUICE_TRY(field.truth_or("lowercase", true));
  const bool strips_accents = SLUICE_TRY(field.truth_or("strip_accents", lowers));
  return std::unique_ptr<const Normalizer>(
      std::make_unique<Bert>(cleans, spaces_ideographs, strips_accents, lowers));
}

}  // namespace sluice::text
