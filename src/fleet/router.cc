#include "fleet/router.h"

#include <algorithm>
#include <array>

namespace sluice::fleet {
namespace {

constexpr std::array kRoutes = {Route::kLeast, Route::kModel, Route::kTurns};
/// With so many the shares of machines differ by about a tenth.
constexpr std::uint64_t kPoints = 100;

/// The last step of SplitMix64: near numbers get far ones.
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

std::uint64_t point_of_model(std::uint32_t model) {
  return mixed(0x9e3779b97f4a7c15U * (std::uint64_t{model} + 1));
}

}  // namespace

std::string_view route_name(Route route) {
  switch (route) {
    case Route::kLeast: return "least";
    case Route::kModel: return "model";
    case Route::kTurns: break;
  }
  return "turns";
}

std::optional<Route> find_route(std::string_view name) {
  const auto* const found = std::ranges::find(kRoutes, name, &route_name);
  return found == kRoutes.end() ? std::nullopt : std::optional(*found);
}

Router::Router(Route route, int num_machines)
    : route_(route), machines_(static_cast<std::size_t>(num_machines)) {
  for (std::uint32_t machine = 0; machine < machines_.size(); ++machine) {
    if (route_ == Route::kLeast) by_requests_.insert(order_of(machine));
    if (route_ != Route::kModel) continue;
    for (std::uint64_t i = 0; i < kPoints; ++i) {
      ring_.emplace_back(mixed((std::uint64_t{machine} * kPoints + i + 1) * 0xd6e8feb86659fd93U),
                         machine);
    }
  }
  std::ranges::sort(ring_);
}

Router::Order Router::order_of(std::uint32_t machine) const {
  return {machines_[machine].num_requests, machines_[machine].used, machine};
}

std::uint32_t Router::home_of(std::uint32_t model) const {
  const std::pair<std::uint64_t, std::uint32_t> point = {point_of_model(model), 0};
  const auto found = std::ranges::lower_bound(ring_, point);
  return found == ring_.end() ? ring_.front().second : found->second;
}

std::optional<std::uint32_t> Router::next_up(std::size_t place) const {
  const std::size_t size = route_ == Route::kModel ? ring_.size() : machines_.size();
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = (place + i) % size;
    const auto machine =
        route_ == Route::kModel ? ring_[at].second : static_cast<std::uint32_t>(at);
    if (machines_[machine].is_up) return machine;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Router::choose(std::uint32_t model) const {
  if (route_ == Route::kTurns) return next_up(num_sent_ % machines_.size());
  if (route_ == Route::kModel) {
    const std::pair<std::uint64_t, std::uint32_t> point = {point_of_model(model), 0};
    return next_up(
        static_cast<std::size_t>(std::ranges::lower_bound(ring_, point) - ring_.begin()));
  }
  if (by_requests_.empty()) return std::nullopt;
  return std::get<2>(*by_requests_.begin());
}

std::optional<std::uint32_t> Router::send(std::uint32_t model) {
  const auto chosen = choose(model);
  ++num_sent_;
  if (!chosen) return std::nullopt;
  Machine& machine = machines_[*chosen];
  if (route_ == Route::kLeast) by_requests_.erase(order_of(*chosen));
  ++machine.num_requests;
  machine.used = num_sent_;
  if (route_ == Route::kLeast) by_requests_.insert(order_of(*chosen));
  return chosen;
}

void Router::ended(std::uint32_t machine) {
  const bool is_ordered = route_ == Route::kLeast && machines_[machine].is_up;
  if (is_ordered) by_requests_.erase(order_of(machine));
  --machines_[machine].num_requests;
  if (is_ordered) by_requests_.insert(order_of(machine));
}

void Router::set_up(std::uint32_t machine, bool is_up) {
  if (route_ == Route::kLeast && machines_[machine].is_up) by_requests_.erase(order_of(machine));
  machines_[machine].is_up = is_up;
  if (route_ == Route::kLeast && is_up) by_requests_.insert(order_of(machine));
}

}  // namespace sluice::fleet
