#include "daemon/on_processors.h"

#include <fstream>
#include <utility>

#include "exec/testing/exec_testing.h"
#include "package/package.h"
#include "support/process.h"

namespace sluice::testing {
namespace {

/// A map of one device of one core: this processor. Daemons tell devices apart by `bus_address`.
std::string map_of(int processor, const std::string& bus_address, std::int64_t memory_bytes) {
  return fmt::format(R"({{"format": "sluice device map", "version": {{"major": 1, "minor": 0}},
      "devices": [{{"id": 0, "kind": "cpu", "num_cores": 1, "cpus": [[{}]], "memory_bytes": {},
                    "bus_address": "{}"}}]}})",
                     processor, memory_bytes, bus_address);
}

}  // namespace

std::vector<terms::NamedTensor> input_x(std::vector<float>& x) {
  const auto size = static_cast<std::int64_t>(x.size());
  return {{"x", {x.data(), size * 4, ir::ElementType::kF32, {size}}}};
}

std::unique_ptr<RunningDaemon> OnProcessors::start(const std::string& name, std::size_t number,
                                                   std::int64_t memory_bytes,
                                                   const std::vector<std::string>& more_flags) {
  const auto processors = usable_processors();
  const std::filesystem::path map = folder_ / (name + ".map.json");
  std::ofstream(map) << map_of(processors[number % processors.size()],
                               fmt::format("0000:00:1{}.0", number), memory_bytes);
  std::vector<std::string> flags = {"-m", map.string()};
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  auto daemon = RunningDaemon::start(folder_, {.sim = "", .flags = flags, .name = name});
  EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
  return daemon.is_ok() ? std::move(*daemon) : nullptr;
}

std::string OnProcessors::write(const std::string& name, std::string_view graph) const {
  const std::string path = (folder_ / (name + ".sluice")).string();
  const auto executable = exec::testing::executable_of(graph, "cpu");
  const Status status = package::write_package(executable, path);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return path;
}

}  // namespace sluice::testing
