// The fields of a call that say how tokens are chosen, which all protocols name alike.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/sampler.h"
#include "http/fields.h"

namespace sluice::http {

/// All but bad words, which need the model's tokenizer. Ids and ranges are checked with the model.
/// Fails: kInvalidArgument naming the field.
Result<generate::WantedSampling> read_sampling(Fields& fields);

/// A text or a list of texts of up to 1 KiB; none if there is no field.
/// Fails: kInvalidArgument naming the field.
Result<std::vector<std::string>> read_texts(Fields& fields, const char* name, std::size_t most);

}  // namespace sluice::http
