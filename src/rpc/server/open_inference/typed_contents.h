// The elements of an input as a list in its message.
#pragma once

#include <string>

#include "base/result.h"
#include "ir/element_type.h"
#include "proto/open_inference/service.pb.h"

namespace sluice::rpc::server {

/// Row-major bytes, as raw_input_contents would have them.
/// Fails: kBadInput for FP16 and BF16, for a field of another type, and for a number that does not
///        fit the type.
Result<std::string> bytes_of(const inference::InferTensorContents& contents, ir::ElementType type);

/// Whether any field has elements.
bool has_elements(const inference::InferTensorContents& contents);

}  // namespace sluice::rpc::server
