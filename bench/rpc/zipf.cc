// A hundred models on the cores of this machine, through sluiced: clients choose models by Zipf's
// law. Target: no client is refused. Prints how often the cores changed models, and latencies by
// the popularity of the model.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "../runtime/networks.h"
#include "package/package.h"
#include "programs.h"
#include "rpc/client/client.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kModels = 100;
constexpr int kClients = 8;
constexpr std::int64_t kRunNs = 10'000'000'000;
constexpr int kWidth = 256;
/// Bounds of the groups of models that the table prints, by popularity.
constexpr std::array<std::size_t, 5> kRanks = {0, 1, 10, 50, kModels};

/// Latencies in nanoseconds by model, the most popular first.
using Latencies = std::vector<std::vector<std::int64_t>>;

std::unique_ptr<rpc::client::Client> connect(const std::string& folder) {
  rpc::client::ClientOptions options;
  options.address = fmt::format("unix:{}/sluice.sock", folder);
  return value_of(rpc::client::Client::create(options));
}

/// Models of 1 MB of weights with different depths: 0.1 to 0.4 ms a request.
std::vector<std::uint64_t> load_all(rpc::client::Client& client, const std::string& folder) {
  std::vector<std::uint64_t> handles;
  for (int i = 0; i < kModels; ++i) {
    const std::string path = fmt::format("{}/{}.sluice", folder, i);
    check(package::write_package(*products(4 + i % 9, kWidth, 4), path));
    terms::LoadOptions options;
    options.name = fmt::format("model {}", i);
    handles.push_back(value_of(client.upload(options, path)).info.handle);
    fs::remove(path);
  }
  return handles;
}

std::discrete_distribution<std::size_t> zipf() {
  std::vector<double> weights;
  for (int i = 0; i < kModels; ++i) weights.push_back(1.0 / (i + 1));
  return {weights.begin(), weights.end()};
}

/// One client's requests, in sequence. Returns the number of refused ones.
std::int64_t work(const std::string& folder, const std::vector<std::uint64_t>& models,
                  unsigned seed, Latencies& latencies) {
  const auto client = connect(folder);
  value_of(client->open_session(fmt::format("client {}", seed)));
  std::mt19937 random(seed);
  auto choose = zipf();
  std::vector<float> x(4 * kWidth, 1.0F);
  const terms::TensorView view = {x.data(), 4 * kWidth * 4, ir::ElementType::kF32, {4, kWidth}};
  std::int64_t num_refused = 0;
  const std::int64_t end_ns = system_clock().now_ns() + kRunNs;
  for (std::int64_t now_ns = 0; (now_ns = system_clock().now_ns()) < end_ns;) {
    const std::size_t model = choose(random);
    const bool is_ok = client->infer(models[model], {{"x0", view}}).is_ok();
    latencies[model].push_back(system_clock().now_ns() - now_ns);
    num_refused += is_ok ? 0 : 1;
  }
  return num_refused;
}

double quantile_ms(std::vector<std::int64_t>& times, double q) {
  if (times.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(times.size() - 1));
  std::ranges::nth_element(times, times.begin() + at);
  return static_cast<double>(times[static_cast<std::size_t>(at)]) / 1e6;
}

void print(const std::vector<Latencies>& of_clients) {
  fmt::print("models       requests    p50 ms    p99 ms    max ms\n");
  for (std::size_t i = 0; i + 1 < kRanks.size(); ++i) {
    std::vector<std::int64_t> times;
    for (const Latencies& latencies : of_clients) {
      for (std::size_t model = kRanks[i]; model < kRanks[i + 1]; ++model) {
        times.insert(times.end(), latencies[model].begin(), latencies[model].end());
      }
    }
    fmt::print("{:3} to {:3}   {:9}  {:8.2f}  {:8.2f}  {:8.2f}\n", kRanks[i] + 1, kRanks[i + 1],
               times.size(), quantile_ms(times, 0.5), quantile_ms(times, 0.99),
               quantile_ms(times, 1));
  }
}

void run() {
  std::string folder = (fs::temp_directory_path() / "sluice-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::exit(1);
  {
    const Process daemon = start_daemon(folder);
    const auto client = connect(folder);
    const auto models = load_all(*client, folder);
    std::vector<Latencies> latencies(kClients, Latencies(kModels));
    std::atomic<std::int64_t> num_refused = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kClients; ++i) {
      threads.emplace_back([&, i] { num_refused += work(folder, models, i, latencies[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    print(latencies);
    for (const terms::GroupEntry& group : value_of(client->list_groups())) {
      fmt::print("group {}: {} models on {} cores, {:.0f} switches a second\n",
                 group.info.id.value(), group.info.num_models, group.info.cores.size(),
                 static_cast<double>(group.info.num_switches) * 1e9 / kRunNs);
    }
    fmt::print("refused: {} (at most 0)\n", num_refused.load());
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace sluice::bench

int main() { sluice::bench::run(); }
