#include "grammar/schema/shapes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "text/unicode/characters.h"

namespace sluice::grammar {
namespace {

/// Limit of names that a schema does not know.
constexpr std::int64_t kMaxNameCharacters = 64;

/// The rest of a key, with the quote that ends it, that is not in `names`. Requires: names in
/// UTF-8, none twice.
/// `end`: up to kMaxNameCharacters of any, and the quote.
Expression other_key(const std::vector<std::string_view>& names, const Expression& end) {
  if (names.empty()) return end;
  std::map<char32_t, std::vector<std::string_view>> by_first;
  bool is_name = false;
  for (const std::string_view name : names) {
    if (name.empty()) {
      is_name = true;
      continue;
    }
    std::size_t at = 0;
    const char32_t first = text::next_character(name, at);
    by_first[first].push_back(name.substr(at));
  }
  std::vector<Expression> parts;
  CharacterSet others = plain_characters();
  for (const auto& [first, rests] : by_first) {
    others = others.without({{first, first}});
    const CharacterSet only = CharacterSet{{first, first}}.within(plain_characters());
    if (!only.is_empty()) parts.push_back(sequence({one_of(only), other_key(rests, end)}));
  }
  parts.push_back(sequence({one_of(others), end}));
  if (!is_name) parts.push_back(literal("\""));
  return choice(std::move(parts));
}

/// The members behind the first `at` properties are a rule, so that a property that may be left out
/// doubles nothing.
class Members {
 public:
  Members(const ObjectShape& shape, const std::string& name, Rules& rules, JsonRules& json)
      : shape_(shape), name_(name), rules_(rules), json_(json) {
    if (shape.others) add_other();
  }

  /// From the last to the first. `follows`: a member stands before them.
  Expression write() {
    Expression first = others(false);
    Expression later = others(true);
    for (std::size_t i = shape_.properties.size(); i-- > 0;) {
      const auto& property = shape_.properties[i];
      const RuleId behind = rules_.add(name_ + ", members", std::move(later));
      const Expression member =
          json_.member(literal(json_of(nlohmann::ordered_json(property.name))), property.value);
      const Expression as_first = sequence({member, call(behind)});
      const Expression as_later = sequence({json_.comma(), member, call(behind)});
      if (property.is_required) {
        first = as_first;
        later = as_later;
        continue;
      }
      const RuleId without = rules_.add(name_ + ", members", std::move(first));
      first = choice({as_first, call(without)});
      later = choice({as_later, call(behind)});
    }
    return first;
  }

 private:
  void add_other() {
    std::vector<std::string_view> names;
    for (const auto& property : shape_.properties) names.push_back(property.name);
    const Expression any = repeat(one_of(plain_characters()), 0, kMaxNameCharacters);
    const Expression end = call(rules_.add("end of a name", sequence({any, literal("\"")})));
    const Expression key =
        shape_.name ? *shape_.name : sequence({literal("\""), other_key(names, end)});
    other_ = rules_.add(name_ + ", other members", json_.member(key, *shape_.others));
  }

  Expression others(bool follows) {
    if (!other_.is_valid()) return literal("");
    const auto& [least, most] = std::pair(shape_.least_others, shape_.most_others);
    if (most == 0) return literal("");
    const Expression member = sequence({json_.comma(), call(other_)});
    if (follows) return repeat(member, least, most);
    const std::int64_t behind = std::max<std::int64_t>(least - 1, 0);
    const Expression some = sequence(
        {call(other_), repeat(member, behind, most ? std::optional(*most - 1) : std::nullopt)});
    return least > 0 ? some : optional(some);
  }

  const ObjectShape& shape_;
  const std::string& name_;
  Rules& rules_;
  JsonRules& json_;
  RuleId other_;
};

}  // namespace

Expression object_of(const ObjectShape& shape, const std::string& name, Rules& rules,
                     JsonRules& json) {
  Expression members = Members(shape, name, rules, json).write();
  return sequence({literal("{"), json.space(), std::move(members), json.space(), literal("}")});
}

Expression array_of(const ArrayShape& shape, JsonRules& json) {
  const auto num_first = static_cast<std::int64_t>(shape.first.size());
  // What stands behind the items before; from the last to the first.
  Expression items = literal("");
  if (shape.rest && (!shape.most || *shape.most > num_first)) {
    const std::int64_t before = std::max<std::int64_t>(num_first, 1);
    const auto most = shape.most ? std::optional(*shape.most - before) : std::nullopt;
    items = repeat(sequence({json.comma(), *shape.rest}),
                   std::max<std::int64_t>(shape.least - before, 0), most);
    if (num_first == 0) {
      items = sequence({*shape.rest, std::move(items)});
      if (shape.least == 0) items = optional(std::move(items));
    }
  } else if (shape.least > num_first) {
    items = one_of({});  // nothing fits
  }
  for (std::int64_t i = num_first; i-- > 0;) {
    if (shape.most && i >= *shape.most) continue;
    const Expression& item = shape.first[static_cast<std::size_t>(i)];
    items = i > 0 ? sequence({json.comma(), item, std::move(items)})
                  : sequence({item, std::move(items)});
    if (i >= shape.least) items = optional(std::move(items));
  }
  return sequence({literal("["), json.space(), std::move(items), json.space(), literal("]")});
}

Expression each_once(const std::vector<std::string>& values, const ArrayShape& shape,
                     const std::string& name, Rules& rules, JsonRules& json) {
  // behind[k]: what may stand behind the value at hand once k values were taken.
  const std::size_t size = values.size();
  std::vector<Expression> behind;
  for (std::size_t taken = 0; taken <= size; ++taken) {
    const auto count = static_cast<std::int64_t>(taken);
    const bool is_fine = count >= shape.least && (!shape.most || count <= *shape.most);
    behind.push_back(is_fine ? literal("") : one_of({}));
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t taken = 0; taken <= i; ++taken) {
      const Expression value = literal(values[i]);
      Expression with = taken == 0 ? sequence({value, behind[1]})
                                   : sequence({json.comma(), value, behind[taken + 1]});
      behind[taken] =
          call(rules.add(name + ", items", choice({std::move(with), std::move(behind[taken])})));
    }
  }
  return sequence({literal("["), json.space(), behind[0], json.space(), literal("]")});
}

}  // namespace sluice::grammar
