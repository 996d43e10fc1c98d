// StringNormalizer. Case changes letter by letter, as the locale's tables of the C library have it.
#include <clocale>
#include <cwctype>
#include <memory>
#include <set>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

struct FreeLocale {
  void operator()(locale_t locale) const { freelocale(locale); }
};
using Locale = std::unique_ptr<std::remove_pointer_t<locale_t>, FreeLocale>;

/// The locale by name, in UTF-8; the C locale if it is not installed.
Locale find_locale(std::string_view name) {
  const std::string plain(name.substr(0, name.find('.')));
  for (const std::string& choice : {plain + ".UTF-8", std::string("C.UTF-8")}) {
    if (locale_t found = newlocale(LC_CTYPE_MASK, choice.c_str(), nullptr)) return Locale(found);
  }
  return nullptr;
}

/// Takes a code point off the front of valid UTF-8. Fails for what is none.
bool take_code_point(std::string_view& text, char32_t* code) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead < 0x80   ? 1
                           : lead < 0xc2 ? 0
                           // 0xc0 and 0xc1 would start a form longer than needed, and nothing above
                           // 0xf4 is a code point.
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                           : lead < 0xf5 ? 4
                                         : 0;
  if (size == 0 || size > text.size()) return false;
  constexpr unsigned kLeadBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t value = lead & kLeadBits[size];
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return false;
    value = value << 6 | (next & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  // Longer forms than needed, surrogates and numbers beyond the last are no UTF-8.
  if (value < kLeast[size] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return false;
  text.remove_prefix(size);
  *code = value;
  return true;
}

void append_code_point(char32_t code, std::string& text) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

/// In capitals, or without any.
Status change_case(const Call& call, std::string_view text, bool is_upper, locale_t locale,
                   std::string* changed) {
  changed->clear();
  while (!text.empty()) {
    char32_t code = 0;
    if (!take_code_point(text, &code)) return refuse(call.op(), "a string is not valid UTF-8");
    const auto letter = static_cast<wint_t>(code);
    const wint_t other = locale == nullptr ? letter
                         : is_upper        ? towupper_l(letter, locale)
                                           : towlower_l(letter, locale);
    append_code_point(static_cast<char32_t>(other), *changed);
  }
  return plugin::ok();
}

class Normalizer {
 public:
  explicit Normalizer(const Call& call)
      : call_(call),
        locale_(find_locale(call.attributes().get_text("locale", "en_US"))),
        is_case_sensitive_(call.attributes().get_int("is_case_sensitive") != 0),
        action_(call.attributes().get_text("case_change_action", "NONE")) {}

  Status read_stop_words() {
    for (const std::string_view word : call_.attributes().get_texts("stopwords")) {
      std::string key;
      if (Status status = key_of(word, &key); !status.is_ok()) return status;
      stop_words_.insert(std::move(key));
    }
    return plugin::ok();
  }

  Status is_stop_word(std::string_view word, bool* is_stop) const {
    std::string key;
    if (!stop_words_.empty()) {
      if (Status status = key_of(word, &key); !status.is_ok()) return status;
    }
    *is_stop = stop_words_.contains(key);
    return plugin::ok();
  }

  Status normalize(const Text& word, Text* result) const {
    *result = word;
    if (action_ == "NONE") return plugin::ok();
    std::string changed;
    Status status = change_case(call_, word, action_ == "UPPER", locale_.get(), &changed);
    if (status.is_ok()) *result = call_.keep(changed);
    return status;
  }

 private:
  /// A key that is equal for words that the locale treats as equal.
  Status key_of(std::string_view word, std::string* key) const {
    *key = word;
    return is_case_sensitive_ ? plugin::ok() : change_case(call_, word, false, locale_.get(), key);
  }

  const Call& call_;
  Locale locale_;
  bool is_case_sensitive_;
  std::string_view action_;
  std::set<std::string> stop_words_;
};

Status run_normalizer(const Call& call) {
  Normalizer normalizer(call);
  if (Status status = normalizer.read_stop_words(); !status.is_ok()) return status;
  std::vector<Text> kept;
  for (const Text& word : call.input_elements<Text>(0)) {
    bool is_stop = false;
    Status status = normalizer.is_stop_word(word, &is_stop);
    if (status.is_ok() && !is_stop) status = normalizer.normalize(word, &kept.emplace_back());
    if (!status.is_ok()) return status;
  }
  // The standard wants one empty string instead of none.
  if (kept.empty()) kept.emplace_back();
  const auto y = call.output_elements<Text>(0);
  const Dims room = dims_of(call.output(0));
  const bool fits = !room.empty() && kept.size() <= y.size() && std::ssize(kept) <= room.back();
  if (!fits) return refuse(call.op(), "the output is too small");
  std::ranges::copy(kept, y.begin());
  Ints dims(room.size(), 1);
  dims.back() = std::ssize(kept);
  call.set_actual_dims(0, dims);
  return plugin::ok();
}

Status check_normalizer(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const bool is_row = x.rank == 2 && (x.dims[0] == 1 || x.dims[0] < 0);
  if (x.rank != 1 && !is_row) return refuse(op, "the input must be [C] or [1, C]");
  return check_type(op, 0, kTexts);
}

}  // namespace

std::vector<KernelEntry> normalizer_kernels() {
  return {{.kind = "StringNormalizer",
           .run = run_normalizer,
           .check = check_normalizer,
           .output_types = {plugin::kString}}};
}

}  // namespace sluice::reference
