// `loop` within a for loop: where it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

/// The variable `loop` in one turn. The method `changed` is not supported. `depth` is always 1,
/// because recursive loops are not supported either.
class Loop : public Object {
 public:
  Loop(ListPtr items, std::size_t index) : items_(std::move(items)), index_(index) {}

  std::string_view kind() const override { return "loop"; }
  std::optional<Value> field(std::string_view name) const override;
  int depth() const override { return items_->depth + 1; }

 private:
  ListPtr items_;
  std::size_t index_;
};

}  // namespace sluice::text::jinja
