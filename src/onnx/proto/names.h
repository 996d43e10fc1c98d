// Names in the file: how messages show them, and which are refused.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// Version of the operator set of each domain.
using Opsets = std::map<std::string, int, std::less<>>;

/// `node "conv1" (Conv)`; an unnamed node goes by its first output.
std::string describe(const pb::NodeProto& node);

/// The node's name, or that of its first output that has one.
std::string node_name(const pb::NodeProto& node);

/// "" for both spellings of ONNX's default domain.
std::string canonical_domain(const std::string& domain);

/// The domain as messages name it: that of ONNX is "ai.onnx".
std::string shown_domain(const std::string& domain);

/// UTF-8 without control characters.
bool is_printable_utf8(std::string_view text);

/// Names end up in messages, tables and JSON.
/// Fails: kInvalidArgument if `name` is no UTF-8, has control characters or more than 4096 bytes.
Status check_name(std::string_view name);

}  // namespace sluice::onnx
