// What is left of a model's capacity when more requests with deadlines come than it can compute:
// answers in time, as a share of what the same model answers without deadlines. Target: 0.95, for
// 1.5, 3 and 10 times the capacity and deadlines of 50 ms to 5 s, with default settings. Prints a
// table in Markdown; the exit code is 1 if a row is below the target.
//
//     bench/goodput [SECONDS of a row]      # 6: a quarter of an hour in all
#include <fmt/format.h>
#include <sluice/request.hpp>
#include <sluice/runtime.hpp>
#include <sluice/sluice.hpp>

#include <atomic>
#include <filesystem>
#include <thread>

#include "../runtime/networks.h"
#include "base/clock.h"
#include "package/package.h"
#include "programs.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kLayers = 15;  // some 8 ms a run on one core
constexpr int kWidth = 512;
constexpr int kRows = 64;
constexpr int kWarmUps = 20;
constexpr double kTarget = 0.95;

template <typename T>
T checked(Expected<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message);
    std::exit(1);
  }
  return std::move(*result);
}

struct Counts {
  std::atomic<std::int64_t> num_ok = 0;
  std::atomic<std::int64_t> num_ended = 0;
};

class Caller {
 public:
  explicit Caller(const LoadedModel& model) : model_(model), x_(kRows * kWidth, 0.01F) {}

  /// Sends a request; its end is counted. Whether it was accepted.
  bool send(Counts& counts, nanoseconds timeout) {
    RequestOptions options;
    options.timeout = timeout;
    const auto error = model_.submit(
        {tensor<float>("x0", x_, {kRows, kWidth})},
        [&counts](const Expected<Reply>& reply) {
          if (reply) ++counts.num_ok;
          ++counts.num_ended;
        },
        options);
    if (error) ++counts.num_ended;
    return !error;
  }

  /// Answers a second with four requests in flight and no deadline.
  double capacity(std::int64_t duration_ns) {
    Counts counts;
    const std::int64_t start_ns = system_clock().now_ns();
    std::int64_t sent = 0;
    std::int64_t now_ns = start_ns;
    while ((now_ns = system_clock().now_ns()) < start_ns + duration_ns) {
      while (sent - counts.num_ended < 4) sent += send(counts, nanoseconds(0)) ? 1 : 0;
      std::this_thread::sleep_for(nanoseconds(200'000));
    }
    const double rate =
        static_cast<double>(counts.num_ok) * 1e9 / static_cast<double>(now_ns - start_ns);
    while (counts.num_ended < sent) std::this_thread::sleep_for(milliseconds(1));
    return rate;
  }

  /// Answers in time a second, of requests that come at an even pace.
  double goodput(double rate, nanoseconds deadline, std::int64_t duration_ns) {
    Counts counts;
    const auto num_requests =
        static_cast<std::int64_t>(rate * static_cast<double>(duration_ns) / 1e9);
    const std::int64_t start_ns = system_clock().now_ns();
    for (std::int64_t i = 0; i < num_requests; ++i) {
      const auto due_ns = start_ns + static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / rate);
      const std::int64_t now_ns = system_clock().now_ns();
      if (due_ns > now_ns) std::this_thread::sleep_for(nanoseconds(due_ns - now_ns));
      send(counts, deadline);
    }
    // Those that come in time after the last was sent count, and their time too.
    while (counts.num_ended < num_requests) std::this_thread::sleep_for(milliseconds(1));
    const std::int64_t end_ns = system_clock().now_ns();
    return static_cast<double>(counts.num_ok) * 1e9 / static_cast<double>(end_ns - start_ns);
  }

 private:
  const LoadedModel& model_;
  std::vector<float> x_;
};

struct Subject {
  const char* name;
  bool is_function;
  std::int32_t isolation;
};

constexpr Subject kSubjects[] = {{"model", false, SLUICE_ISOLATION_DEFAULT},
                                 {"worker", false, SLUICE_ISOLATION_PROCESS},
                                 {"function", true, SLUICE_ISOLATION_DEFAULT},
                                 {"cell", true, SLUICE_ISOLATION_PROCESS}};

/// How many rows are below the target.
int measure(const Runtime& runtime, const char* door, const Subject& subject,
            const std::string& package, std::int64_t duration_ns) {
  LoadOptions options;
  options.path = package;
  options.name = "products";
  options.isolation = subject.isolation;
  if (subject.is_function) options.function = FunctionOptions();
  const LoadedModel model = checked(runtime.load(options));
  if (subject.is_function) {
    const std::vector<float> x(kRows * kWidth, 0.01F);
    for (int i = 0; i < kWarmUps; ++i) {
      (void)checked(model.infer({tensor<float>("x0", x, {kRows, kWidth})}));
    }
  }
  Caller caller(model);
  int num_below = 0;
  for (const double times : {1.5, 3.0, 10.0}) {
    for (const auto deadline : {milliseconds(50), milliseconds(300), milliseconds(5000)}) {
      const double before = caller.capacity(duration_ns / 2);
      const double good = caller.goodput(before * times, deadline, duration_ns);
      const double after = caller.capacity(duration_ns / 2);
      const double share = 2 * good / (before + after);
      fmt::print("| {} | {} | {:.1f} | {} | {:.1f} | {:.1f} | {:.2f} |\n", door, subject.name,
                 times, deadline.count(), (before + after) / 2, good, share);
      std::fflush(stdout);
      num_below += share < kTarget ? 1 : 0;
    }
  }
  return num_below;
}

int run(double seconds) {
  const auto duration_ns = static_cast<std::int64_t>(seconds * 1e9);
  std::string folder = (fs::temp_directory_path() / "sluice-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::exit(1);
  const std::string path = folder + "/products.sluice";
  check(package::write_package(*products(kLayers, kWidth, kRows), path));
  int num_below = 0;
  fmt::print(
      "| door | of a | times the capacity | deadline, ms | capacity/s | in time/s | share |\n");
  fmt::print("|---|---|--:|--:|--:|--:|--:|\n");
  {
    const Process daemon = start_daemon(folder);
    for (const auto& [door, transport] :
         {std::pair{"ring", SLUICE_TRANSPORT_DEFAULT}, std::pair{"gRPC", SLUICE_TRANSPORT_GRPC}}) {
      ConnectOptions options;
      options.transport = transport;
      const Runtime runtime = checked(Runtime::connect("unix:" + folder + "/sluice.sock", options));
      for (const Subject& subject : kSubjects) {
        num_below += measure(runtime, door, subject, path, duration_ns);
      }
    }
  }
  fs::remove_all(folder);
  return num_below == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::run(argc > 1 ? std::atof(argv[1]) : 6); }
