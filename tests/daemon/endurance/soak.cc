// A day of a daemon in some minutes, or in seconds: its simulated devices live through 24 hours and
// get faults of every kind on the way, clients use them and recover. Prints what it counted; exits
// 1 if an answer was wrong, an error was not a fault's, or memory grew; and, where it lasts for
// five minutes or more, if median latencies, as multiples of an echo's between two threads in the
// same second, differ by more than 5 % between the first and the last tenth.
//   daemon_soak [SECONDS [SEED]]
// Daemon and clients are one process, so that the clock and the faults of the simulation are at
// hand.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/system/heap.h"
#include "daemon/add_relu.h"
#include "daemon/endurance/soak_clients.h"
#include "rpc/server/server.h"
#include "runtime/engine.h"
#include "runtime/inference/simulated_drivers.h"
#include "support/eventually.h"
#include "support/sim.h"
#include "topology/discovery/discovery.h"

namespace sluice::testing {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kDayNs = 24 * 3600 * kNsPerSecond;
constexpr std::int64_t kSecondsToJudgeLatency = 300;
constexpr std::int64_t kMaxGrowthBytes = std::int64_t{4} << 20;
constexpr int kDevices = 4;

// No log: it would grow through the day.
constexpr const char* kMachine = R"({"max_log_bytes": 0, "devices": [{"count": 4, "cores": 4,
    "exclusive_cores": false, "bus_address": "0000:00:1{}.0",
    "compute": {"kernel_ns": 100000}}]})";

/// All parts of sluiced, in this process.
class Served {
 public:
  explicit Served(const TempDir& folder)
      : sim_(make_sim(kMachine).value()),
        drivers_(sim_.time),
        devices_(find()),
        engine_(sim_.registry, drivers_, {devices_}),
        service_(engine_, devices_, options(folder), log_) {
    rpc::server::ServerOptions wanted;
    wanted.addresses = {{true, (folder / "s").string(), "", 0}};
    server_ = rpc::server::Server::start(service_, repository_, wanted).value();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() {
    service_.shutdown(0);
    server_->shutdown(0);
  }

  std::string address() const { return server_->addresses().front(); }
  backend::VirtualTime& time() { return *sim_.time; }
  const service::Service& service() const { return service_; }

 private:
  topology::DeviceMap find() {
    topology::DiscoveryOptions options;
    options.only_simulated = true;
    return topology::discover_devices(sim_.registry, options).value();
  }
  static service::ServiceOptions options(const TempDir& folder) {
    service::ServiceOptions options;
    options.model_folders = {std::filesystem::canonical(folder.path())};
    return options;
  }

  Sim sim_;
  runtime::SimulatedDrivers drivers_;
  const topology::DeviceMap devices_;
  runtime::Engine engine_;
  service::NoLog log_;
  service::Service service_;
  repository::Repository repository_{service_, {}};
  std::unique_ptr<rpc::server::Server> server_;
};

/// Faults of every kind, one after the other, each ended before the next.
class Faults {
 public:
  Faults(backend::VirtualTime& time, unsigned seed) : time_(time), random_(seed) {}

  void happen() {
    static constexpr const char* kKinds[] = {
        R"({{"kind": "failed_kernel", "device": {}, "count": 3}})",
        R"({{"kind": "failed_copy", "device": {}, "count": 2}})",
        R"({{"kind": "slow_core", "device": {}, "core": 1, "factor": 50}})",
        R"({{"kind": "memory_exhausted", "device": {}, "count": 2}})",
        R"({{"kind": "hung_kernel", "device": {}}})",
        R"({{"kind": "lost_device", "device": {}}})"};
    const int device = static_cast<int>(random_() % kDevices);
    const auto fault =
        time_.inject_fault(fmt::format(fmt::runtime(kKinds[count_ % std::size(kKinds)]), device));
    EXPECT_TRUE(fault.is_ok()) << fault.status().to_string();
    pause_for(std::chrono::milliseconds(20 + random_() % 30));
    EXPECT_TRUE(time_.clear_all_faults().is_ok());
    if (count_ % std::size(kKinds) == std::size(kKinds) - 1) {
      EXPECT_TRUE(time_.reset_device(device).is_ok());
    }
    ++count_;
  }
  std::int64_t count() const { return static_cast<std::int64_t>(count_); }

 private:
  backend::VirtualTime& time_;
  std::mt19937 random_;
  std::size_t count_ = 0;
};

/// The largest heap of the first or of the last tenth, and the latencies there.
struct Tenth {
  std::int64_t heap_bytes = 0;  ///< 0 under a sanitizer
  PairedMedians times;

  void print(const char* name) const {
    const Durations& all = times.all_requests();
    std::printf(
        "%-6s heap %lld KB, %lld single requests, p50 %.1f us, p99 %.1f us; %.2f times an echo in "
        "%lld seconds\n",
        name, static_cast<long long>(heap_bytes >> 10), static_cast<long long>(all.count()),
        all.percentile_ns(0.5) / 1e3, all.percentile_ns(0.99) / 1e3, times.ratio(),
        static_cast<long long>(times.num_seconds()));
  }
};

/// Runs the simulated day, without faults in its first and last tenth.
void live_through(Soak& soak, Served& served, Faults& faults, std::int64_t seconds, Tenth& first,
                  Tenth& last) {
  Clock& clock = system_clock();
  const std::int64_t start_ns = clock.now_ns();
  std::int64_t second_ns = start_ns;
  const auto share = [&] {
    return static_cast<double>(clock.now_ns() - start_ns) / static_cast<double>(seconds) / 1e9;
  };
  for (double now = 0; now < 1; now = share()) {
    served.time().advance_to(static_cast<std::int64_t>(now * static_cast<double>(kDayNs)));
    const bool is_middle = now > 0.11 && now < 0.89;
    // A while of settling before the first tenth's, as threads and pools come to be.
    Tenth* tenth = now > 0.02 && now < 0.1 ? &first : now > 0.9 ? &last : nullptr;
    soak.times = tenth == nullptr ? nullptr : &tenth->times;
    if (tenth != nullptr && clock.now_ns() - second_ns >= kNsPerSecond) {
      tenth->times.end_second();
      second_ns = clock.now_ns();
    }
    if (tenth != nullptr) {
      tenth->heap_bytes = std::max(tenth->heap_bytes, heap_bytes());
    }
    if (is_middle) faults.happen();
    pause_for(std::chrono::milliseconds(50));
  }
  served.time().advance_to(kDayNs);
  soak.times = nullptr;
}

int run(std::int64_t seconds, unsigned seed) {
  const TempDir folder;
  Served served(folder);
  Soak soak;
  soak.address = served.address();
  soak.package = write_model(folder, "one", {1});
  Faults faults(served.time(), seed);
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < 3; ++i) clients.emplace_back(ask_one_by_one, std::ref(soak), seed + i);
  clients.emplace_back(ask_over_streams, std::ref(soak), seed);
  clients.emplace_back(come_and_go, std::ref(soak), seed);
  clients.emplace_back(echo_as_control, std::ref(soak));
  static Tenth first;  // not on the stack: it is large
  static Tenth last;
  live_through(soak, served, faults, seconds, first, last);
  soak.is_over = true;
  for (std::thread& client : clients) client.join();

  const auto hours = static_cast<double>(served.time().now_ns()) / 3600 / 1e9;
  std::printf("seed %u: %.1f hours in %lld s, %lld faults, %lld answers, %lld loads, %lld resets\n",
              seed, hours, static_cast<long long>(seconds), static_cast<long long>(faults.count()),
              static_cast<long long>(soak.num_answered.load()),
              static_cast<long long>(soak.num_loads.load()),
              static_cast<long long>(soak.num_resets.load()));
  for (const auto& [code, count] : soak.errors()) {
    std::printf("  %lld errors of code %d\n", static_cast<long long>(count), code);
  }
  first.print("first");
  last.print("last");
  const Status wrong = soak.first_wrong();
  if (!wrong.is_ok()) std::printf("should not have been: %s\n", wrong.to_string().c_str());
  const double change = last.times.ratio() / std::max(first.times.ratio(), 1e-9) - 1;
  std::printf("median latency beside the echo's changed by %+.1f %%\n", change * 100);
  const bool is_flat = last.heap_bytes <= first.heap_bytes + kMaxGrowthBytes;
  const bool is_steady = seconds < kSecondsToJudgeLatency || std::abs(change) <= 0.05;
  const bool is_good = wrong.is_ok() && is_flat && is_steady && soak.num_answered > 0 &&
                       faults.count() > 0 && !::testing::UnitTest::GetInstance()->Failed();
  std::printf("%d passed, %d failed\n", is_good ? 1 : 0, is_good ? 0 : 1);
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  const std::int64_t seconds = argc > 1 ? std::atoll(argv[1]) : 600;
  const auto seed = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 1U;
  return sluice::testing::run(seconds, seed);
}
