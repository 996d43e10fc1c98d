#include <algorithm>
#include <filesystem>
#include <span>
#include <thread>

#include "base/file.h"
#include "base/text/plural.h"
#include "compile/optimize.h"
#include "compile/profile/measure.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

class OperatorTimesCommand : public Command {
 public:
  const char* name() const override { return "operator-times"; }

  void add_options(Options& options) override {
    options_.add_to(options);
    options.add("-o,--output", output_, "File to write; it keeps times of earlier calls")
        .required();
    options.add_threads(num_threads_, "Cores to measure with; 0 takes all");
  }

  Result<int> run() override {
    const auto executable = SLUICE_TRY(open_model(options_));
    const auto backends = SLUICE_TRY(compile::find_backends(backend_registry(), options_.backends));
    // The library says 0 where it does not know.
    const int available = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const auto measured = SLUICE_TRY(compile::measure_operators(
        executable.graph, backends, num_threads_ == 0 ? available : num_threads_));
    // Only operations of known shapes can be measured. Without any, the file would be empty.
    const bool has_times = std::ranges::any_of(
        measured.devices, [](const auto& entry) { return !entry.second.times_ns.empty(); });
    if (!has_times) {
      return invalid_argument(
          "{}: no operation has known shapes; fix the open dimensions with --shape, as in "
          "\"--shape "
          "image=1,1,8,8\"",
          options_.path);
    }
    // Times of earlier calls stay: a profile grows from model to model and from machine to machine.
    compile::OperatorProfile profile;
    if (std::filesystem::exists(output_)) {
      profile = SLUICE_TRY(compile::read_operator_profile(output_));
    }
    profile.merge(measured);
    const std::string text = compile::to_json(profile);
    SLUICE_TRY(write_file_atomically(output_, std::as_bytes(std::span(text))));
    print(measured);
    return 0;
  }

 private:
  void print(const compile::OperatorProfile& measured) const {
    for (const auto& [key, device] : measured.devices) {
      double sum_ns = 0;
      for (const auto& [operation, time_ns] : device.times_ns) sum_ns += time_ns;
      fmt::print("{}: {}, {:.3f} ms together", key,
                 counted(device.times_ns.size(), "different operation"), sum_ns / 1e6);
      fmt::print("; a launch takes {:.1f} us", device.launch_ns / 1e3);
      print_copies("to the device", device.to_device);
      print_copies("back", device.from_device);
      if (device.between_devices) print_copies("between devices", *device.between_devices);
      fmt::print("\n");
    }
    fmt::print("wrote {}; `sluice compile {} --backend {} --operator-times {}` chooses by it\n",
               output_, options_.path, fmt::join(options_.backends, ","), output_);
  }

  static void print_copies(const char* direction, const compile::TransferCost& cost) {
    if (cost.latency_ns <= 0 && cost.ns_per_byte <= 0) return;  // a device in host memory
    fmt::print("; copies {} take {:.1f} us and {:.3f} ms per MB", direction, cost.latency_ns / 1e3,
               cost.ns_per_byte);
  }

  ModelOptions options_;
  std::string output_;
  int num_threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_operator_times_command() {
  return std::make_unique<OperatorTimesCommand>();
}

}  // namespace sluice::tool
