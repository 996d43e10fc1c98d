// Unicode's four normalization forms.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/normalizers/normalizer.h"

namespace sluice::text {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// Requires: valid UTF-8. Fails: kResourceExhausted without memory.
Result<std::string> to_unicode_form(std::string_view text, UnicodeForm form);

std::unique_ptr<const Normalizer> make_unicode_form(UnicodeForm form);

}  // namespace sluice::text
