#include "text/jinja/nodes/loop.h"

#include <cstdint>
#include <vector>

#include "text/jinja/library/function.h"

namespace sluice::text::jinja {
namespace {

/// `loop.cycle("a", "b")`: one of its arguments, in turn.
Result<Value> cycle(const Value& index, Call& call) {
  const std::vector<Value> values = call.rest();
  if (values.empty()) return call.error("takes the values to choose from");
  return values[static_cast<std::size_t>(*index.whole()) % values.size()];
}

constexpr NamedFunction kCycle = {"cycle", cycle};

}  // namespace

std::optional<Value> Loop::field(std::string_view name) const {
  const auto& items = items_->items;
  const auto index = static_cast<std::int64_t>(index_);
  const auto count = static_cast<std::int64_t>(items.size());
  if (name == "index") return Value(index + 1);
  if (name == "index0") return Value(index);
  if (name == "revindex") return Value(count - index);
  if (name == "revindex0") return Value(count - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == count);
  if (name == "length") return Value(count);
  if (name == "depth") return Value(std::int64_t{1});
  if (name == "depth0") return Value(std::int64_t{0});
  if (name == "previtem") return index == 0 ? Value() : items[index_ - 1];
  if (name == "nextitem") return index + 1 == count ? Value() : items[index_ + 1];
  if (name == "cycle") {
    return Value(ObjectPtr(std::make_shared<BoundFunction>(kCycle, Value(index))));
  }
  return std::nullopt;
}

}  // namespace sluice::text::jinja
