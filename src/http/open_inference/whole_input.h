// An input of which only the bytes came: a body without JSON, a part of a form.
#pragma once

#include <string_view>

#include "http/open_inference/infer_call.h"

namespace sluice::http {

/// Bytes that a kernel reads as numbers where they are, or a copy of the call where they may not
/// be.
std::string_view aligned(std::string_view bytes, std::string_view datatype, InferCall& call);

/// Adds the input `spec` to the call. The bytes are its only text, or its numbers: their count
/// gives the dimension that is open.
/// Fails: kBadInput where the bytes do not say the shape.
Status add_whole_input(std::string_view bytes, const terms::TensorSpec& spec, InferCall& call);

}  // namespace sluice::http
