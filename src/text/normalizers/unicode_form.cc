#include "text/normalizers/unicode_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

namespace sluice::text {
namespace {

struct Free {
  void operator()(utf8proc_uint8_t* memory) const { std::free(memory); }
};

int options_of(UnicodeForm form) {
  switch (form) {
    case UnicodeForm::kNfc: return UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    case UnicodeForm::kNfd: return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    case UnicodeForm::kNfkc: return UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT;
    case UnicodeForm::kNfkd: return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
  }
  return 0;
}

class Normal : public Normalizer {
 public:
  explicit Normal(UnicodeForm form) : form_(form) {}

  Status normalize(std::string& text, RegexBudget& /*budget*/) const override {
    text = SLUICE_TRY(to_unicode_form(text, form_));
    return ok_status();
  }

 private:
  UnicodeForm form_;
};

}  // namespace

Result<std::string> to_unicode_form(std::string_view text, UnicodeForm form) {
  // All forms leave ASCII as it is.
  if (std::ranges::all_of(text, [](char c) { return c >= 0; })) return std::string(text);
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(options_of(form)));
  const std::unique_ptr<utf8proc_uint8_t, Free> owner(mapped);
  if (size < 0) {
    return make_error(Code::kResourceExhausted, "normalizing {} bytes: {}", text.size(),
                      utf8proc_errmsg(size));
  }
  return std::string(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
}

std::unique_ptr<const Normalizer> make_unicode_form(UnicodeForm form) {
  return std::make_unique<Normal>(form);
}

}  // namespace sluice::text
