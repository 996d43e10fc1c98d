#include "grammar/schema/strings.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "grammar/schema/formats.h"
#include "grammar/schema/pattern.h"

namespace sluice::grammar {
namespace {

using Json = nlohmann::ordered_json;

struct Lengths {
  std::int64_t least = 0;
  std::optional<std::int64_t> most;

  bool holds(const Pattern& pattern) const {
    return least <= pattern.least && (!most || (pattern.most && *pattern.most <= *most));
  }
  bool are_any() const { return least == 0 && !most; }
};

Result<std::optional<Pattern>> pattern_of(const Json& schema, const std::string& path,
                                          Strictness strictness) {
  const auto found = schema.find("pattern");
  if (found == schema.end()) return std::optional<Pattern>();
  if (!found->is_string()) return invalid_argument("{}: \"pattern\" is no text", path);
  auto pattern = read_pattern(found->get_ref<const std::string&>());
  if (strictness == Strictness::kLoose && pattern.status().code() == Code::kUnimplemented) {
    return std::optional<Pattern>();
  }
  Pattern read = SLUICE_TRY(std::move(pattern).with_context(path));
  return std::optional(std::move(read));
}

/// The texts of a format that lengths hold wholly.
Result<std::optional<Pattern>> format_of(const Json& schema, const std::string& path,
                                         const Lengths& lengths) {
  const auto found = schema.find("format");
  if (found == schema.end()) return std::optional<Pattern>();
  if (!found->is_string()) return invalid_argument("{}: \"format\" is no text", path);
  const auto text = pattern_of_format(found->get_ref<const std::string&>());
  if (!text) return std::optional<Pattern>();
  Pattern pattern = SLUICE_TRY(read_pattern(*text));
  if (!lengths.holds(pattern)) return std::optional<Pattern>();
  return std::optional(std::move(pattern));
}

/// Both: texts of the pattern that have such a length.
Result<Expression> counted(Pattern pattern, const Lengths& lengths, const std::string& path,
                           Strictness strictness) {
  if (lengths.holds(pattern)) return std::move(pattern.content);
  if (pattern.repeated) {
    const std::int64_t least = std::max(pattern.least, lengths.least);
    std::optional<std::int64_t> most = pattern.most ? pattern.most : lengths.most;
    if (most && lengths.most) most = std::min(*most, *lengths.most);
    SLUICE_TRY(check_order(least, most, "characters", path));
    return repeat(std::move(*pattern.repeated), least, most);
  }
  if (strictness == Strictness::kLoose) return std::move(pattern.content);
  return unimplemented("{}: this pattern beside a length is not supported: let it count itself",
                       path);
}

}  // namespace

Result<Expression> string_of(const Json& schema, const std::string& path, Strictness strictness,
                             Rules& rules, JsonRules& json) {
  const auto least = SLUICE_TRY(count_of(schema, "minLength", path));
  const auto most = SLUICE_TRY(count_of(schema, "maxLength", path));
  const Lengths lengths = {least.value_or(0), most};
  SLUICE_TRY(check_order(lengths.least, lengths.most, "characters", path));
  auto pattern = SLUICE_TRY(pattern_of(schema, path, strictness));
  if (!pattern) pattern = SLUICE_TRY(format_of(schema, path, lengths));
  if (!pattern && lengths.are_any()) return json.string();
  if (!pattern) pattern = Pattern{{}, 0, std::nullopt, any_character()};
  Expression content = SLUICE_TRY(counted(std::move(*pattern), lengths, path, strictness));
  return call(rules.add(path, quoted(std::move(content))));
}

}  // namespace sluice::grammar
