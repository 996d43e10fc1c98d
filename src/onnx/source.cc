#include "onnx/source.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <vector>

#include "onnx/proto/names.h"

namespace sluice::onnx {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxSourceBytes = 256;

bool is_text(std::string_view text) {
  if (text.size() > kMaxTextBytes) return false;
  std::string lines(text);
  std::erase_if(lines, [](char c) { return c == '\n' || c == '\r' || c == '\t'; });
  return is_printable_utf8(lines);
}

using Properties = std::map<std::string, std::string>;

/// metadata_props of a node, which an older ONNX keeps as an unknown field: number 9, a list of
/// StringStringEntryProto.
template <typename Node>
Properties properties_of(const Node& node) {
  Properties properties;
  const auto add = [&](const pb::StringStringEntryProto& entry) {
    if (is_text(entry.key()) && is_text(entry.value())) {
      properties.emplace(entry.key(), entry.value());
    }
  };
  if constexpr (requires { node.metadata_props(); }) {
    for (const auto& entry : node.metadata_props()) add(entry);
  } else {
    constexpr int kMetadataProps = 9;
    const auto& fields = node.unknown_fields();
    for (int i = 0; i < fields.field_count(); ++i) {
      const auto& field = fields.field(i);
      if (field.number() != kMetadataProps ||
          field.type() != std::decay_t<decltype(field)>::TYPE_LENGTH_DELIMITED) {
        continue;
      }
      pb::StringStringEntryProto entry;
      if (entry.ParseFromString(field.length_delimited())) add(entry);
    }
  }
  return properties;
}

std::string_view find(const Properties& properties, const std::string& key) {
  const auto found = properties.find(key);
  return found == properties.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

std::string_view leading_digits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool is_library(std::string_view path) {
  return path.find("site-packages") != std::string_view::npos ||
         path.find("dist-packages") != std::string_view::npos;
}

/// The innermost line of a program in a Python stack trace, innermost last:
///   File "/code/model.py", line 42, in forward
std::string line_of_trace(std::string_view trace) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  std::string innermost;
  bool is_of_library = true;
  while (true) {
    const std::size_t file = trace.find(kFile);
    if (file == std::string_view::npos) return innermost;
    trace.remove_prefix(file + kFile.size());
    const std::size_t end = trace.find(kLine);
    if (end == std::string_view::npos) return innermost;
    const std::string_view path = trace.substr(0, end);
    trace.remove_prefix(end + kLine.size());
    const std::string_view number = leading_digits(trace);
    if (number.empty() || (is_library(path) && !is_of_library)) continue;
    innermost = fmt::format("{}:{}", file_name(path), number);
    is_of_library = is_library(path);
  }
}

/// The first line of a program in a doc string of the older exporter, innermost first:
///   /code/model.py(42): forward
std::string line_of_doc(std::string_view doc) {
  while (!doc.empty()) {
    const std::string_view line = doc.substr(0, doc.find('\n'));
    doc.remove_prefix(std::min(doc.size(), line.size() + 1));
    const std::size_t open = line.find('(');
    if (open == std::string_view::npos || is_library(line)) continue;
    const std::string_view number = leading_digits(line.substr(open + 1));
    if (number.empty() || !line.substr(open + 1 + number.size()).starts_with("):")) continue;
    return fmt::format("{}:{}", file_name(line.substr(0, open)), number);
  }
  return "";
}

/// The module of "['', 'encoder', 'encoder.layer.3', 'linear_5']": the last but one, as the last
/// names the node.
std::string module_of_scopes(std::string_view scopes) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t open = scopes.find('\'');
    if (open == std::string_view::npos) break;
    scopes.remove_prefix(open + 1);
    const std::size_t close = scopes.find('\'');
    if (close == std::string_view::npos) break;
    names.push_back(scopes.substr(0, close));
    scopes.remove_prefix(close + 1);
  }
  return names.size() < 2 ? "" : std::string(names[names.size() - 2]);
}

/// The module of ": Net/encoder: Encoder/encoder.layer.3: Layer/linear_5: aten.linear".
std::string module_of_namespace(std::string_view scopes) {
  const std::size_t last = scopes.rfind('/');
  if (last == std::string_view::npos) return "";
  scopes = scopes.substr(0, last);
  scopes.remove_prefix(scopes.rfind('/') + 1);  // npos + 1 is 0
  return std::string(scopes.substr(0, scopes.find(':')));
}

}  // namespace

std::string describe_source(const pb::NodeProto& node) {
  const Properties properties = properties_of(node);
  std::string line = line_of_trace(find(properties, "pkg.torch.onnx.stack_trace"));
  if (line.empty() && is_text(node.doc_string())) line = line_of_doc(node.doc_string());
  std::string module = module_of_scopes(find(properties, "pkg.torch.onnx.name_scopes"));
  if (module.empty()) module = module_of_namespace(find(properties, "namespace"));
  if (module.empty()) return line.size() <= kMaxSourceBytes ? line : "";
  const std::string source = line.empty() ? module : fmt::format("{} ({})", line, module);
  return source.size() <= kMaxSourceBytes ? source : "";
}

}  // namespace sluice::onnx
