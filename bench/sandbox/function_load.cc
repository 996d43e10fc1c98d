// One load of functions, under one trace and one target; prints one line of JSON.
//
//     function_load FUNCTIONS TARGET [FLAG VALUE]...
//
// --pattern P or --azure FILE  the trace
// --rate R,R,...               one load after another, until two in a row miss the deadline
// --search 1                   from the first rate on: doubles it until it misses the deadline
//                              twice, then bisects; a load that misses by far is not repeated
// --seconds S, --seed N, --deadline-ms D
// --hold 1                     the functions stay until the end of standard input
// --starts N                   measures first answers instead: cold and warm functions, or
// processes
// --python P, --server S       what runs a process of Python; --program P: of C++
// --keep S                     a process ends after S idle seconds; below 0: never
// --most N                     most processes at a time; the least recently used one makes room
//
// FUNCTIONS: a file with a line per function: NAME ONNX PACKAGE
// TARGET: functions:ADDRESS or models:ADDRESS of a daemon, through a ring in shared memory;
//         grpc-functions:ADDRESS through a gRPC stream; processes:ENGINE or one-process:ENGINE
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "azure.h"
#include "base/clock.h"
#include "package/package.h"
#include "replay.h"
#include "traces.h"

namespace sluice::bench {
namespace {

constexpr std::int64_t kSlotNs = 20'000'000;
constexpr double kNsPerSecond = 1e9;
/// A load whose 99th percentile is so many deadlines is no accident of the machine.
constexpr double kHopeless = 10;
constexpr int kBisections = 3;
constexpr double kMaxRate = 500'000;

template <typename T>
T value_of(Result<T> result) {
  if (result.is_ok()) return std::move(*result);
  fmt::print(stderr, "function_load: {}\n", result.status().to_string());
  std::exit(1);
}

[[noreturn]] void refuse(const std::string& message) {
  fmt::print(stderr, "function_load: {}\n", message);
  std::exit(2);
}

struct Settings {
  std::string functions;
  std::string target;
  std::map<std::string, std::string> flags = {
      {"--pattern", "bursty"}, {"--rate", "100"},     {"--seconds", "5"},      {"--seed", "1"},
      {"--deadline-ms", "50"}, {"--keep", "-1"},      {"--python", "python3"}, {"--server", ""},
      {"--azure", ""},         {"--hold", "0"},       {"--search", "0"},       {"--starts", "0"},
      {"--most", "1000000"},   {"--batch-rows", "0"}, {"--program", ""}};

  double number(const std::string& flag) const { return std::atof(flags.at(flag).c_str()); }
};

Settings parse(int argc, char** argv) {
  if (argc < 3)
    refuse("usage: function_load FUNCTIONS TARGET [--pattern P] [--rate R] [--seconds S] ...");
  Settings settings;
  settings.functions = argv[1];
  settings.target = argv[2];
  for (int i = 3; i < argc; i += 2) {
    if (i + 1 == argc || !settings.flags.contains(argv[i])) refuse(fmt::format("{}?", argv[i]));
    settings.flags[argv[i]] = argv[i + 1];
  }
  return settings;
}

std::vector<LoadFunction> read_functions(const std::string& path) {
  std::ifstream file(path);
  std::vector<LoadFunction> functions;
  for (std::string line; std::getline(file, line);) {
    LoadFunction one;
    std::istringstream(line) >> one.name >> one.onnx >> one.package;
    const auto executable = value_of(package::read_package(one.package));
    one.signature = package::signature_of(executable.graph);
    functions.push_back(std::move(one));
  }
  if (functions.empty()) refuse(path + " names no function");
  return functions;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Counts per slot of each function: generated, each with a seed of its own; or the rows of an
/// Azure trace, a minute of it in a slot.
std::vector<std::vector<std::int64_t>> counts_of(const Settings& settings,
                                                 std::size_t num_functions, std::size_t num_slots) {
  std::vector<std::vector<std::int64_t>> counts;
  const std::string& azure = settings.flags.at("--azure");
  const auto seed = static_cast<std::uint64_t>(settings.number("--seed"));
  if (azure.empty()) {
    const auto pattern = find_pattern(settings.flags.at("--pattern"));
    if (!pattern) refuse("--pattern is sporadic, periodic or bursty");
    for (std::size_t f = 0; f < num_functions; ++f) {
      counts.push_back(generate_counts(*pattern, num_slots, seed * 1000 + f));
    }
    return counts;
  }
  counts.assign(num_functions, std::vector<std::int64_t>(num_slots, 0));
  const std::string text = read_file(azure);
  if (is_azure_invocations(text)) {
    std::map<std::string, std::size_t> numbers;  // by application and function
    for (const AzureInvocation& one : value_of(parse_azure_invocations(text))) {
      const auto slot = static_cast<std::size_t>(one.start_s / 60);
      const std::string key = one.app + ' ' + one.function;
      const std::size_t number = numbers.emplace(key, numbers.size()).first->second;
      if (slot < num_slots) ++counts[number % num_functions][slot];
    }
    return counts;
  }
  std::size_t row = 0;
  for (const AzureCounts& one : value_of(parse_azure_counts(text))) {
    std::vector<std::int64_t>& to = counts[row++ % num_functions];
    for (std::size_t i = 0; i < std::min(num_slots, one.counts.size()); ++i) to[i] += one.counts[i];
  }
  return counts;
}

/// About `rate` requests per second of all functions together.
std::vector<LoadRequest> make_requests(const Settings& settings, std::size_t num_functions,
                                       double rate) {
  const double seconds = settings.number("--seconds");
  const auto num_slots = static_cast<std::size_t>(seconds * kNsPerSecond / kSlotNs);
  const auto counts = counts_of(settings, num_functions, num_slots);
  double total = 0;
  for (const auto& one : counts) {
    for (const std::int64_t count : one) total += static_cast<double>(count);
  }
  if (total == 0) refuse("the trace has no request");
  const double scale = rate * seconds / total;
  std::vector<LoadRequest> requests;
  for (std::size_t f = 0; f < num_functions; ++f) {
    const auto seed = static_cast<std::uint64_t>(settings.number("--seed")) * 7919 + f;
    for (const std::int64_t due_ns : arrivals_of(counts[f], kSlotNs, scale, seed)) {
      requests.push_back({due_ns, f});
    }
  }
  std::ranges::stable_sort(requests, {}, &LoadRequest::due_ns);
  return requests;
}

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

ProcessOptions process_options(const Settings& settings, const std::string& engine) {
  ProcessOptions options;
  options.python = settings.flags.at("--python");
  options.server = settings.flags.at("--server");
  options.program = settings.flags.at("--program");
  options.engine = engine;
  options.batch_rows = static_cast<int>(settings.number("--batch-rows"));
  options.max_processes = static_cast<std::size_t>(settings.number("--most"));
  const double keep_s = settings.number("--keep");
  options.keep_ns = keep_s < 0 ? -1 : static_cast<std::int64_t>(keep_s * kNsPerSecond);
  return options;
}

/// `--target` as its kind and what follows the colon.
std::pair<std::string, std::string> parse_target(const Settings& settings) {
  const std::size_t colon = settings.target.find(':');
  const std::string what = colon == std::string::npos ? "" : settings.target.substr(colon + 1);
  return {settings.target.substr(0, colon), what};
}

std::unique_ptr<Target> open_target(const Settings& settings,
                                    const std::vector<LoadFunction>& functions) {
  const auto [kind, what] = parse_target(settings);
  const bool is_grpc = kind == "grpc-functions";
  if (kind == "functions" || kind == "models" || is_grpc) {
    return value_of(
        daemon_target(what, functions,
                      {.are_functions = kind != "models",
                       .uses_ring = !is_grpc,
                       .batch_rows = static_cast<std::int32_t>(settings.number("--batch-rows"))}));
  }
  if (kind != "processes" && kind != "one-process") refuse(kind + " is no kind of target");
  ProcessOptions options = process_options(settings, what);
  options.is_shared = kind == "one-process";
  return value_of(process_target(functions, options));
}

/// What a start does, prepared so that it meets a cold or a warm function; null for a warm process.
std::function<Status()> prepare_start(const Settings& settings, const LoadFunction& function,
                                      bool is_cold) {
  const auto [kind, what] = parse_target(settings);
  if (kind == "functions") return value_of(prepare_daemon_start(what, function, is_cold));
  if (!is_cold) return nullptr;
  // Ends with the returned function: the end of a process is no part of its start.
  const auto started = std::make_shared<std::unique_ptr<Target>>();
  return [started, options = process_options(settings, what), function]() -> Status {
    *started = SLUICE_TRY(process_target({function}, options));  // it has answered a request
    return ok_status();
  };
}

/// From a connection, or the start of a process, to the first answer; functions in turn.
void measure_starts(const Settings& settings, const std::vector<LoadFunction>& functions) {
  const auto count = static_cast<std::size_t>(settings.number("--starts"));
  for (std::size_t f = 0; f < functions.size(); ++f) {
    for (const bool is_cold : {true, false}) {
      std::vector<std::int64_t> durations_ns;
      for (std::size_t i = 0; i < count; ++i) {
        const auto start = prepare_start(settings, functions[f], is_cold);
        if (start == nullptr) break;  // a process is always cold
        const std::int64_t begin_ns = system_clock().now_ns();
        const Status status = start();
        if (!status.is_ok()) refuse(status.to_string());
        durations_ns.push_back(system_clock().now_ns() - begin_ns);
      }
      if (durations_ns.empty()) continue;
      fmt::print("{{\"function\": \"{}\", \"cold\": {}, \"p50_ms\": {:.3f}, \"p99_ms\": {:.3f}}}\n",
                 functions[f].name, is_cold, ms(quantile(durations_ns, 0.5)),
                 ms(quantile(durations_ns, 0.99)));
    }
  }
}

std::vector<double> rates_of(const Settings& settings) {
  std::vector<double> rates;
  std::istringstream text(settings.flags.at("--rate"));
  for (std::string one; std::getline(text, one, ',');) rates.push_back(std::atof(one.c_str()));
  return rates;
}

/// One load. The 99th percentile in parts of the deadline; above 1 if a request was not answered.
double run_load(const Settings& settings, std::size_t num_functions, double rate, Target& target) {
  const auto requests = make_requests(settings, num_functions, rate);
  const auto deadline_ns = static_cast<std::int64_t>(settings.number("--deadline-ms") * 1e6);
  const Replay got = value_of(replay(target, num_functions, requests, deadline_ns));
  // The part of its requests that each function had answered in time: equal parts are fair.
  std::vector<double> parts;
  std::int64_t in_time = 0;
  for (std::size_t f = 0; f < num_functions; ++f) {
    in_time += got.answered[f];
    if (got.offered[f] == 0) continue;
    parts.push_back(static_cast<double>(got.answered[f]) / static_cast<double>(got.offered[f]));
  }
  const std::int64_t p99_ns = quantile(got.latencies_ns, 0.99);
  fmt::print(
      "{{\"rate\": {}, \"offered\": {}, \"answered\": {}, \"failed\": {}, \"in_time\": {}, "
      "\"seconds\": {:.3f}, \"p50_ms\": {:.3f}, \"p99_ms\": {:.3f}, \"late_p99_ms\": {:.3f}, "
      "\"fairness\": {:.4f}}}\n",
      rate, requests.size(), got.latencies_ns.size(), got.num_failed, in_time,
      static_cast<double>(got.duration_ns) / kNsPerSecond, ms(quantile(got.latencies_ns, 0.5)),
      ms(p99_ns), ms(quantile(got.lateness_ns, 0.99)), fairness(parts));
  std::fflush(stdout);
  const double part = static_cast<double>(p99_ns) / static_cast<double>(deadline_ns);
  return got.latencies_ns.size() == requests.size() ? part : std::max(part, kHopeless);
}

void search(const Settings& settings, std::size_t num_functions, double rate, Target& target) {
  const auto is_met = [&](double tried) {
    const double part = run_load(settings, num_functions, tried, target);
    if (part <= 1 || part >= kHopeless) return part <= 1;
    return run_load(settings, num_functions, tried, target) <= 1;
  };
  double met = 0;
  while (rate < kMaxRate && is_met(rate)) {
    met = rate;
    rate *= 2;
  }
  double missed = rate;
  for (int i = 0; i < kBisections && met > 0; ++i) {
    const double middle = std::sqrt(met * missed);
    (is_met(middle) ? met : missed) = middle;
  }
}

void run(const Settings& settings) {
  const auto functions = read_functions(settings.functions);
  if (settings.number("--starts") > 0) return measure_starts(settings, functions);
  const auto target = open_target(settings, functions);
  const std::vector<double> rates = rates_of(settings);
  if (settings.number("--search") > 0) {
    run_load(settings, functions.size(), rates.front(), *target);  // warms up
    search(settings, functions.size(), rates.front(), *target);
    return;
  }
  int num_bad = 0;
  for (const double rate : rates) {
    num_bad = run_load(settings, functions.size(), rate, *target) <= 1 ? 0 : num_bad + 1;
    if (num_bad == 2) break;
  }
  if (settings.number("--hold") == 0) return;
  while (std::getchar() != EOF) continue;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { sluice::bench::run(sluice::bench::parse(argc, argv)); }
