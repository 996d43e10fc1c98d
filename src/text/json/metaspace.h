// The fields that a Metaspace has as a pre-tokenizer and as a decoder.
#pragma once

#include <string>

#include "base/result.h"
#include "text/json/field.h"

namespace sluice::text {

enum class PrependScheme { kNever, kFirst, kAlways };

struct MetaspaceFields {
  std::string replacement;  ///< one character, in UTF-8
  PrependScheme prepend = PrependScheme::kAlways;
  bool splits = true;
};

/// Fails: kInvalidArgument.
Result<MetaspaceFields> read_metaspace_fields(const Field& field);

}  // namespace sluice::text
