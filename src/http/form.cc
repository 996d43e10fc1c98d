#include "http/form.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/utf8.h"

namespace sluice::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kMaxBoundaryBytes = 70;  // RFC 2046, section 5.1.1
constexpr std::size_t kMaxHeadBytes = 4096;

/// RFC 2046, section 5.1.1. A space may not be the last.
bool is_boundary(std::string_view text) {
  const auto may_stand = [](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') ||
           std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMaxBoundaryBytes && text.back() != ' ' &&
         std::ranges::all_of(text, may_stand);
}

/// In linear time, whatever the bytes.
std::size_t find_bytes(std::string_view in, std::string_view wanted) {
  const void* found = memmem(in.data(), in.size(), wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - in.data());
}

/// A parameter's value, a token or a text in quotes, which it takes off the front of `text`.
Result<std::string> take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string_view token = text.substr(0, text.find(';'));
    text.remove_prefix(token.size());
    return std::string(trimmed(token));
  }
  std::string value;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') {
      text.remove_prefix(at + 1);
      return value;
    }
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    value += text[at];
  }
  return invalid_argument("a text of its Content-Disposition has no closing quote");
}

/// The name that a Content-Disposition gives its part.
Result<std::string> name_of(std::string_view disposition) {
  const std::string_view kind = disposition.substr(0, disposition.find(';'));
  if (!is_same_word(trimmed(kind), "form-data")) {
    return invalid_argument("its Content-Disposition is not form-data");
  }
  std::optional<std::string> name;
  for (std::string_view rest = disposition.substr(kind.size()); !rest.empty();) {
    if (rest.front() != ';') return invalid_argument("its Content-Disposition is broken");
    rest = trimmed(rest.substr(1));
    if (rest.empty()) break;
    const std::size_t size = std::min(rest.find('='), rest.size());
    const std::string_view key = trimmed(rest.substr(0, size));
    if (size == rest.size() || key.find_first_of("; \t\"") != std::string_view::npos) {
      return invalid_argument("its Content-Disposition is broken");
    }
    rest.remove_prefix(size + 1);
    std::string value = SLUICE_TRY(take_value(rest));
    rest = trimmed(rest);
    if (!is_same_word(key, "name")) continue;
    if (name) return invalid_argument("it has two names");
    name = std::move(value);
  }
  if (!name || name->empty()) return invalid_argument("it has no name");
  SLUICE_TRY(check_name(*name, "part"));
  return std::move(*name);
}

/// What the daemon must know of a field that is not the name. Fails: kInvalidArgument.
Status check_field(std::string_view field, std::string_view value) {
  constexpr std::string_view kNested = "multipart/";
  if (is_same_word(field, "Content-Type") &&
      is_same_word(value.substr(0, kNested.size()), kNested)) {
    return invalid_argument("it is a form itself; send its parts beside the others");
  }
  if (!is_same_word(field, "Content-Transfer-Encoding")) return ok_status();
  for (const std::string_view plain : {"binary", "8bit", "7bit"}) {
    if (is_same_word(value, plain)) return ok_status();
  }
  return invalid_argument("its Content-Transfer-Encoding is not binary; send the bytes themselves");
}

/// Takes the head off the front of `rest`, and gives the part's name.
Result<std::string> take_head(std::string_view& rest) {
  const std::size_t size = rest.substr(0, kMaxHeadBytes).find(kHeadEnd);
  if (size == std::string_view::npos) {
    return invalid_argument("its head does not end within {} bytes", kMaxHeadBytes);
  }
  std::string_view head = rest.substr(0, size);
  rest.remove_prefix(size + kHeadEnd.size());
  std::optional<std::string> name;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find(kLineEnd));
    head.remove_prefix(std::min(line.size() + kLineEnd.size(), head.size()));
    const std::size_t colon = line.find(':');
    const bool is_field = colon != 0 && colon != std::string_view::npos &&
                          line.substr(0, colon).find_first_of(" \t") == std::string_view::npos;
    if (!is_field || line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return invalid_argument("a line of its head is no field");
    }
    const std::string_view field = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    SLUICE_TRY(check_field(field, value));
    if (!is_same_word(field, "Content-Disposition")) continue;
    if (name) return invalid_argument("it has two Content-Dispositions");
    name = SLUICE_TRY(name_of(value));
  }
  if (!name) return invalid_argument("it has no Content-Disposition, which names it");
  return std::move(*name);
}

Status check_names(const std::vector<FormPart>& parts) {
  std::vector<std::string_view> names;
  names.reserve(parts.size());
  for (const FormPart& part : parts) names.push_back(part.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return ok_status();
  return invalid_argument("two parts of the form have the name \"{}\"", *twice);
}

}  // namespace

Result<std::vector<FormPart>> read_form(std::string_view body, std::size_t most) {
  constexpr std::string_view kDashes = "--";
  const std::size_t size =
      body.substr(0, kDashes.size() + kMaxBoundaryBytes + kLineEnd.size()).find(kLineEnd);
  if (size == std::string_view::npos || !is_form(body) ||
      !is_boundary(body.substr(kDashes.size(), size - kDashes.size()))) {
    return invalid_argument(
        "the first line of a form is \"--\" and its boundary, 1 to {} letters, digits or marks",
        kMaxBoundaryBytes);
  }
  const std::string delimiter = std::string(kLineEnd) + std::string(body.substr(0, size));
  std::vector<FormPart> parts;
  std::string_view rest = body.substr(size + kLineEnd.size());
  for (bool has_more = true; has_more;) {
    if (parts.size() == most) return invalid_argument("the form has more than {} parts", most);
    const auto take_part = [&]() -> Status {
      std::string name = SLUICE_TRY(take_head(rest));
      const std::size_t end = find_bytes(rest, delimiter);
      if (end == std::string_view::npos) return invalid_argument("no delimiter ends it");
      parts.push_back({std::move(name), rest.substr(0, end)});
      rest.remove_prefix(end + delimiter.size());
      has_more = rest.starts_with(kLineEnd);
      if (has_more) rest.remove_prefix(kLineEnd.size());
      const bool is_end = has_more || rest == kDashes || rest == "--\r\n";
      return is_end ? ok_status() : invalid_argument("its delimiter does not end the line or form");
    };
    const std::size_t number = parts.size() + 1;
    SLUICE_TRY(take_part().with_context(fmt::format("part {} of the form", number)));
  }
  SLUICE_TRY(check_names(parts));
  return parts;
}

}  // namespace sluice::http
