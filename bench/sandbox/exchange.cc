// What a put and a get of a tensor cost at several sizes. The bytes stay where they are, so that
// the ratio to the smallest tensor is about one. Target: a median under 10 us, a ratio under 2.
//
//     bench_exchange [ROUNDS]
#include "sandbox/exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace sluice::sandbox {
namespace {

constexpr OwnerId kOwner{1};

terms::OutputTensor tensor_of(std::int64_t size_bytes) {
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_bytes));
  terms::OutputTensor tensor;
  tensor.view.data = bytes->data();
  tensor.view.size_bytes = size_bytes;
  tensor.owner = std::move(bytes);
  return tensor;
}

double median_of(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  return static_cast<double>(values[values.size() / 2]);
}

struct Cost {
  double put_ns = 0;
  double get_ns = 0;
};

/// Medians of `rounds`.
Cost measure(Exchange& exchange, std::int64_t size_bytes, int rounds) {
  const terms::OutputTensor tensor = tensor_of(size_bytes);
  std::vector<std::int64_t> put_ns;
  std::vector<std::int64_t> get_ns;
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t begin_ns = system_clock().now_ns();
    const auto index = exchange.put(kOwner, tensor);
    const std::int64_t between_ns = system_clock().now_ns();
    if (!index.is_ok()) std::exit(1);
    const auto lease = exchange.get(kOwner, *index);
    const std::int64_t end_ns = system_clock().now_ns();
    put_ns.push_back(between_ns - begin_ns);
    get_ns.push_back(end_ns - between_ns);
    if (!lease.is_ok() || !exchange.remove(kOwner, *index).is_ok()) std::exit(1);
  }
  return {median_of(put_ns), median_of(get_ns)};
}

int run(int rounds) {
  Exchange exchange(system_clock(), {.limits = {.max_bytes = std::int64_t{1} << 34}});
  exchange.add(kOwner);
  fmt::print("exchange, medians of {} rounds; ratios to 4 bytes\n", rounds);
  Cost smallest;
  for (const std::int64_t size_bytes :
       {std::int64_t{4}, std::int64_t{1} << 20, std::int64_t{1} << 28}) {
    const Cost cost = measure(exchange, size_bytes, rounds);
    if (smallest.put_ns == 0) smallest = cost;
    fmt::print("  {:>9} bytes: put {:7.0f} ns ({:.2f}x), get {:7.0f} ns ({:.2f}x)\n", size_bytes,
               cost.put_ns, cost.put_ns / smallest.put_ns, cost.get_ns,
               cost.get_ns / smallest.get_ns);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::sandbox

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
  return sluice::sandbox::run(std::max(rounds, 1));
}
