// cuda_probe [--emulated MACHINE] [--against FILE]: prints how the installed driver, or an emulated
// machine, answers; with a file of such lines, those that differ, and fails if any does.
//
// Lines of the file that begin with `#` are skipped. A line `gpu: subject: answer` counts for the
// installed driver alone: an emulated machine is known to answer otherwise.

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

#include "emulator/description_text.h"
#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "probe/probe.h"

namespace sluice::cuda {
namespace {

Prober::Open open_emulated(const std::string& machine) {
  return [machine](Confine confine, Driver* driver) {
    emulator::Description description;
    Status status = emulator::parse_description(machine, &description);
    if (!status.is_ok()) return status;
    std::unique_ptr<emulator::EmulatedDriver> started;
    status = emulator::EmulatedDriver::start(description, emulator::load_ptx, &started);
    if (!status.is_ok()) return status;
    *driver = {started->table(), true, confine, nullptr};
    driver->owner = std::move(started);
    return plugin::ok();
  };
}

Status open_installed(Confine confine, Driver* driver) {
  driver->confine = confine;
  return open_driver(kDriverLibrary, &driver->table);
}

constexpr std::string_view kOfGpus = "gpu: ";

struct Expected {
  std::map<std::string, std::string> answers;
  std::set<std::string> of_gpus;  ///< subjects
};

Expected read_lines(const char* path) {
  Expected expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const bool is_of_gpus = line.starts_with(kOfGpus);
    if (is_of_gpus) line.erase(0, kOfGpus.size());
    const std::size_t colon = line.find(": ");
    if (line.starts_with('#') || colon == std::string::npos) continue;
    expected.answers[line.substr(0, colon)] = line.substr(colon + 2);
    if (is_of_gpus) expected.of_gpus.insert(line.substr(0, colon));
  }
  return expected;
}

int compare(const std::vector<std::string>& lines, const char* path, bool is_emulated) {
  auto [expected, of_gpus] = read_lines(path);
  int num_different = expected.empty() ? 1 : 0;
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(": ");
    const auto found = expected.find(line.substr(0, colon));
    const std::string other = found == expected.end() ? "nothing" : found->second;
    if (found != expected.end()) expected.erase(found);
    if (other == line.substr(colon + 2)) continue;
    if (is_emulated && of_gpus.contains(line.substr(0, colon))) continue;
    ++num_different;
    std::printf("%s, expected %s\n", line.c_str(), other.c_str());
  }
  for (const auto& [subject, answer] : expected) {
    ++num_different;
    std::printf("%s: not probed, expected %s\n", subject.c_str(), answer.c_str());
  }
  std::printf("%zu passed, %d failed\n", lines.size() - static_cast<std::size_t>(num_different),
              num_different);
  return num_different == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  Prober::Open open = open_installed;
  const char* against = nullptr;
  bool is_emulated = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--emulated") {
      open = open_emulated(argv[i + 1]);
      is_emulated = true;
    }
    if (option == "--against") against = argv[i + 1];
  }
  Prober prober(std::move(open));
  for (const auto probe : {probe_partitions, probe_pools, probe_captures, probe_errors}) {
    prober.run_apart(probe);
  }
  for (int number = 0; number < kNumFaults; ++number) {
    prober.run_apart([&](Prober& own) { probe_fault(own, number); });
  }
  if (against != nullptr) return compare(prober.lines(), against, is_emulated);
  for (const std::string& line : prober.lines()) std::printf("%s\n", line.c_str());
  return 0;
}

}  // namespace
}  // namespace sluice::cuda

int main(int argc, char** argv) { return sluice::cuda::run(argc, argv); }
