// The plug-in `cuda-emulated`: devices that the host stands for.

#include <cstdlib>

#include "emulator/description_text.h"
#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "plugin/table.h"

namespace sluice::cuda {
namespace {

/// All backends of a process share the machine; it ends with the last of them.
struct SharedMachine {
  std::mutex mutex;
  std::string text;
  std::weak_ptr<emulator::EmulatedDriver> driver;
};

SharedMachine& shared_machine() {
  static SharedMachine machine;
  return machine;
}

Status share_machine(const std::string& text, std::shared_ptr<emulator::EmulatedDriver>* driver) {
  SharedMachine& shared = shared_machine();
  const std::lock_guard lock(shared.mutex);
  *driver = shared.driver.lock();
  if (*driver != nullptr) {
    if (shared.text == text) return plugin::ok();
    return {SLUICE_FAILED_PRECONDITION,
            "this process emulates the machine \"" + shared.text + "\"; it has one at a time"};
  }
  emulator::Description description;
  Status status = emulator::parse_description(text, &description);
  if (!status.is_ok()) return status;
  std::unique_ptr<emulator::EmulatedDriver> started;
  status = emulator::EmulatedDriver::start(std::move(description), emulator::load_ptx, &started);
  if (!status.is_ok()) return status;
  *driver = std::move(started);
  shared.driver = *driver;
  shared.text = text;
  return plugin::ok();
}

struct Emulator {
  static constexpr const char* kName = "cuda-emulated";

  static Status open(std::span<const sluice_option> options, Driver* driver, std::string* nvrtc) {
    const char* const usual = std::getenv("SLUICE_CUDA_EMULATED");
    std::string machine = usual != nullptr ? usual : "";
    std::string_view confine = usual_confine();
    std::string_view graphs = usual_graph_use();
    for (const sluice_option& option : options) {
      const std::string_view name = option.name;
      if (name == "nvrtc") {
        *nvrtc = option.value;
      } else if (name == "confine") {
        confine = option.value;
      } else if (name == "graphs") {
        graphs = option.value;
      } else if (name == "machine") {
        machine = option.value;
      } else {
        return plugin::invalid_argument("unknown option \"" + std::string(name) +
                                        "\"; there are: confine, graphs, machine, nvrtc");
      }
    }
    Status status = parse_confine(confine, &driver->confine);
    if (status.is_ok()) status = parse_graph_use(graphs, &driver->graphs);
    if (!status.is_ok()) return status;
    std::shared_ptr<emulator::EmulatedDriver> emulated;
    status = share_machine(machine, &emulated);
    if (!status.is_ok()) return status;
    driver->table = emulated->table();
    driver->is_emulated = true;
    driver->owner = std::move(emulated);
    return plugin::ok();
  }
};

}  // namespace
}  // namespace sluice::cuda

SLUICE_PLUGIN(sluice::cuda::CudaPlugin<sluice::cuda::Emulator>)
