#include "text/normalizers/characters.h"

#include "text/unicode/byte_characters.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

/// `Map`: void(std::string& to, char32_t c), which appends what c becomes.
template <typename Map>
class PerCharacter : public Normalizer {
 public:
  explicit PerCharacter(Map map) : map_(map) {}

  Status normalize(std::string& text, RegexBudget& /*budget*/) const override {
    std::string to;
    to.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) map_(to, next_character(text, at));
    text = std::move(to);
    return ok_status();
  }

 private:
  Map map_;
};

template <typename Map>
std::unique_ptr<const Normalizer> per_character(Map map) {
  return std::make_unique<PerCharacter<Map>>(map);
}

bool is_nmt_control(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
         c == 0x8F || c == 0x9F;
}

bool is_nmt_space(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

class ByteLevel : public Normalizer {
 public:
  Status normalize(std::string& text, RegexBudget& /*budget*/) const override {
    std::string to;
    append_byte_characters(to, text);
    text = std::move(to);
    return ok_status();
  }
};

}  // namespace

std::string to_lower_case(std::string_view text) {
  std::string to;
  to.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) append_lower_case(to, next_character(text, at));
  return to;
}

std::unique_ptr<const Normalizer> make_lowercase() { return per_character(append_lower_case); }

std::unique_ptr<const Normalizer> make_strip_accents() {
  return per_character([](std::string& to, char32_t c) {
    if (!is_mark(c)) append_character(to, c);
  });
}

std::unique_ptr<const Normalizer> make_nmt() {
  return per_character([](std::string& to, char32_t c) {
    if (!is_nmt_control(c)) append_character(to, is_nmt_space(c) ? U' ' : c);
  });
}

std::unique_ptr<const Normalizer> make_byte_level() { return std::make_unique<ByteLevel>(); }

}  // namespace sluice::text
