// Which machine gets a request: the balancer in front of a fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::fleet {

/// The routes of `python -m sluice.cluster haproxy`, and round robin.
enum class Route : std::uint8_t {
  kLeast,  ///< the machine with the fewest requests, of equal ones the longest unused
  kModel,  ///< the machine that the model's number hashes to, else the next that is up
  kTurns,  ///< one after another
};
std::optional<Route> find_route(std::string_view name);  ///< "least", "model", "turns"
std::string_view route_name(Route route);

/// Knows at once which machines are up, and the requests that it has sent and that were not
/// answered. Not thread-safe.
class Router {
 public:
  /// All machines are up. Requires: num_machines > 0.
  Router(Route route, int num_machines);

  /// None if no machine is up. Counts the request.
  std::optional<std::uint32_t> send(std::uint32_t model);
  /// A request that this machine got was answered, or was lost with it.
  void ended(std::uint32_t machine);
  void set_up(std::uint32_t machine, bool is_up);
  /// Where kModel sends the model's requests if all machines are up.
  std::uint32_t home_of(std::uint32_t model) const;

 private:
  struct Machine {
    std::int64_t num_requests = 0;
    std::uint64_t used = 0;
    bool is_up = true;
  };
  using Order = std::tuple<std::int64_t, std::uint64_t, std::uint32_t>;

  Order order_of(std::uint32_t machine) const;
  std::optional<std::uint32_t> choose(std::uint32_t model) const;
  std::optional<std::uint32_t> next_up(std::size_t place) const;

  const Route route_;
  std::vector<Machine> machines_;
  std::set<Order> by_requests_;                                ///< those that are up; kLeast
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ring_;  ///< points of each machine; kModel
  std::uint64_t num_sent_ = 0;
};

}  // namespace sluice::fleet
