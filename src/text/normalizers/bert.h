// What BERT does to a text: clean, space out Chinese, strip accents, lower case.
#pragma once

#include <memory>

#include "text/normalizers/normalizer.h"

namespace sluice::text {

Result<std::unique_ptr<const Normalizer>> read_bert_normalizer(const Field& field);

}  // namespace sluice::text
