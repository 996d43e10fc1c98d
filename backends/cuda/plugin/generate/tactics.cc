#include "plugin/generate/tactics.h"

#include <algorithm>
#include <utility>

#include "plugin/generate/families.h"
#include "plugin/generate/generate.h"
#include "plugin/generate/text/tactic.h"

namespace sluice::cuda {
namespace {

/// The operation with a tactic in the place of its own; without one for "".
Source source_with(const sluice_op& op, std::string_view tactic) {
  std::vector<sluice_attribute> attributes;
  for (const sluice_attribute& attribute :
       std::span(op.attributes, static_cast<std::size_t>(op.num_attributes))) {
    if (std::string_view(attribute.name) != SLUICE_VARIANT_ATTRIBUTE) {
      attributes.push_back(attribute);
    }
  }
  const sluice_text text = {tactic.data(), static_cast<std::int64_t>(tactic.size())};
  if (!tactic.empty()) {
    attributes.push_back(
        {SLUICE_VARIANT_ATTRIBUTE, SLUICE_ATTRIBUTE_TEXT, 1, nullptr, nullptr, &text, nullptr});
  }
  sluice_op changed = op;
  changed.attributes = attributes.data();
  changed.num_attributes = static_cast<std::int32_t>(attributes.size());
  Source source;
  if (!generate(changed, &source).is_ok()) source = {};
  return source;
}

}  // namespace

std::vector<std::string> list_tactics(const sluice_op& op, bool has_library) {
  const Family* const family = find_family(op);
  if (family == nullptr || family->tactics == nullptr) return {};
  std::vector<std::string> texts;
  if (!has_library) texts.push_back(source_with(op, "").text);
  std::vector<std::string> names;
  std::vector<std::string> candidates = family->tactics(op);
  candidates.insert(candidates.begin(), std::string(kGenerated));
  for (std::string& name : candidates) {
    Source source = source_with(op, name);
    const bool is_new = std::ranges::find(texts, source.text) == texts.end();
    if (source.grid[0] == 0 || !is_new) continue;
    texts.push_back(std::move(source.text));
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace sluice::cuda
