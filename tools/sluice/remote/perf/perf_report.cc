#include "sluice/remote/perf/perf_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

using nlohmann::ordered_json;
using perf::Measurement;

bool is_open(const Measurement& one) { return one.form.is_open(); }

double microseconds(double ns) { return std::round(ns / 100) / 10; }

/// The load as it is named: "8", or "500/s".
std::string load_of(const Measurement& one) {
  if (one.form.arrivals_ns != nullptr) return "replay";
  return is_open(one) ? fmt::format("{:g}/s", one.form.per_second)
                      : std::to_string(one.form.concurrency);
}

ordered_json object_of(const Measurement& one) {
  const perf::Window& figures = one.figures;
  const auto latency = [&](double share) {
    return microseconds(static_cast<double>(figures.latency_ns(share)));
  };
  return {{"concurrency", is_open(one) ? ordered_json() : ordered_json(one.form.concurrency)},
          {"rate", one.form.per_second > 0 ? ordered_json(one.form.per_second) : ordered_json()},
          {"inferences_per_second", std::round(figures.per_second() * 10) / 10},
          {"mean_us", microseconds(figures.mean_ns())},
          {"p50_us", latency(0.5)},
          {"p90_us", latency(0.9)},
          {"p95_us", latency(0.95)},
          {"p99_us", latency(0.99)},
          {"answered", figures.latencies_ns.size()},
          {"failed", figures.num_failed},
          {"unsent", figures.num_unsent},
          {"stable", one.is_stable},
          {"generator_processors", std::round(figures.generator.processors * 100) / 100},
          {"generator_busiest_thread", std::round(figures.generator.busiest_thread * 100) / 100},
          {"generator_limit", one.limit}};
}

/// RFC 4180.
std::string csv_field(const ordered_json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? fmt::format("\"{}\"", value.get<std::string>()) : value.dump();
}

std::string notes_of(const Measurement& one) {
  std::string notes;
  const perf::Window& figures = one.figures;
  const auto add = [&](const std::string& note) {
    notes += fmt::format("{}: {}\n", load_of(one), note);
  };
  if (figures.num_failed > 0) {
    add(fmt::format("{} failed; the first: {}", figures.num_failed,
                    printable(figures.first_error.to_string())));
  }
  if (figures.num_unsent > 0) {
    add(fmt::format("{} were not sent: {} were in flight", figures.num_unsent,
                    one.form.max_in_flight));
  }
  if (!one.is_stable) add("not stable: the last windows differ by more than --stability");
  if (!one.limit.empty()) add("the load generator was the bottleneck: " + one.limit);
  return notes;
}

}  // namespace

std::string perf_table(std::span<const Measurement> measurements) {
  std::vector<std::vector<std::string>> rows = {
      {"LOAD", "INFER/S", "MEAN", "P50", "P90", "P95", "P99", "FAILED", "STABLE", "LIMIT"}};
  std::string notes;
  for (const Measurement& one : measurements) {
    const perf::Window& figures = one.figures;
    std::vector<std::string> row = {
        load_of(one), fmt::format("{:.1f}", figures.per_second()),
        describe_duration(static_cast<std::int64_t>(figures.mean_ns()))};
    for (const double share : {0.5, 0.9, 0.95, 0.99}) {
      row.push_back(describe_duration(figures.latency_ns(share)));
    }
    row.push_back(std::to_string(figures.num_failed));
    row.emplace_back(one.is_stable ? "yes" : "no");
    row.emplace_back(one.limit.empty() ? "server" : "generator");
    rows.push_back(std::move(row));
    notes += notes_of(one);
  }
  return text_table(rows) + notes;
}

std::string perf_csv(std::span<const Measurement> measurements) {
  std::string text;
  for (const Measurement& one : measurements) {
    std::string head;
    std::string line;
    const ordered_json object = object_of(one);
    for (const auto& [name, value] : object.items()) {
      const char* separator = head.empty() ? "" : ",";
      head += separator + name;
      line += separator + csv_field(value);
    }
    if (text.empty()) text = head + "\n";
    text += line + "\n";
  }
  return text;
}

std::string perf_json(std::span<const Measurement> measurements) {
  ordered_json list = ordered_json::array();
  for (const Measurement& one : measurements) list.push_back(object_of(one));
  return list.dump() + "\n";
}

}  // namespace sluice::tool
