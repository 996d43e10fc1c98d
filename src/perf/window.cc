#include "perf/window.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::perf {
namespace {

template <typename Figure>
bool agree(std::span<const Window> windows, double tolerance, const Figure& figure) {
  double sum = 0;
  for (const Window& window : windows) sum += figure(window);
  const double mean = sum / static_cast<double>(windows.size());
  return std::ranges::all_of(windows, [&](const Window& window) {
    return std::abs(figure(window) - mean) <= tolerance * mean;
  });
}

}  // namespace

double Window::per_second() const {
  const auto count = static_cast<double>(latencies_ns.size());
  return duration_ns > 0 ? count * 1e9 / static_cast<double>(duration_ns) : 0;
}

double Window::mean_ns() const {
  if (latencies_ns.empty()) return 0;
  const double sum = std::accumulate(latencies_ns.begin(), latencies_ns.end(), 0.0);
  return sum / static_cast<double>(latencies_ns.size());
}

std::int64_t Window::latency_ns(double share) const {
  if (latencies_ns.empty()) return 0;
  std::vector<std::int64_t> sorted = latencies_ns;
  const double rank = std::max(std::ceil(share * static_cast<double>(sorted.size())), 1.0);
  const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::ranges::nth_element(sorted, place);
  return *place;
}

Window merge(std::span<const Window> windows) {
  Window all;
  double busiest = 0;
  double processors = 0;
  for (const Window& window : windows) {
    all.duration_ns += window.duration_ns;
    all.latencies_ns.insert(all.latencies_ns.end(), window.latencies_ns.begin(),
                            window.latencies_ns.end());
    all.num_failed += window.num_failed;
    if (all.first_error.is_ok()) all.first_error = window.first_error;
    all.num_unsent += window.num_unsent;
    all.late_ns += window.late_ns;
    const auto weight = static_cast<double>(window.duration_ns);
    busiest += weight * window.generator.busiest_thread;
    processors += weight * window.generator.processors;
  }
  const auto total = static_cast<double>(all.duration_ns);
  if (total > 0) all.generator = {busiest / total, processors / total};
  return all;
}

bool is_stable(std::span<const Window> windows, double tolerance) {
  const bool have_all = std::ranges::all_of(
      windows, [](const Window& window) { return !window.latencies_ns.empty(); });
  return have_all && !windows.empty() &&
         agree(windows, tolerance, [](const Window& window) { return window.per_second(); }) &&
         agree(windows, tolerance, [](const Window& window) { return window.mean_ns(); });
}

}  // namespace sluice::perf
