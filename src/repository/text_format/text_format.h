// Protobuf's text format and its JSON, without a schema: what config.pbtxt is written in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::repository {

/// A field of a message: `value` of a scalar, or `fields` of a message. A list is a field for each
/// of its elements.
struct TextField {
  std::string name;
  int line = 0;
  bool is_message = false;
  bool is_text = false;  ///< the value stood in quotes, which are taken off
  bool is_json = false;  ///< of JSON, where numbers of 64 bits stand in quotes
  std::string value;
  std::vector<TextField> fields;
};

/// The fields of the outermost message, in their order. Names of extensions ("[a.b]") are refused.
/// The format: protobuf.dev/reference/protobuf/textformat-spec
/// A text that begins with '{' is JSON, as servers send a configuration: `null` is no field, and
/// objects of names, such as `parameters`, become entries with `key` and `value`.
/// Fails: kInvalidArgument naming the line: neither format, nested too deep, or too many fields.
Result<std::vector<TextField>> parse_text_format(std::string_view text);

}  // namespace sluice::repository
