#include "emulator/emulated_driver.h"

#include "emulator/entries/entries.h"
#include "emulator/machine/machine.h"

namespace sluice::cuda::emulator {

Status EmulatedDriver::start(Description description, LoadCode load,
                             std::unique_ptr<EmulatedDriver>* driver) {
  auto machine = std::make_shared<Machine>(std::move(description), std::move(load));
  Status status = machine->counts.open(machine->description.count_file);
  if (!status.is_ok()) return status;
  if (!set_machine(machine)) {
    return {SLUICE_FAILED_PRECONDITION, "this process has an emulated machine already"};
  }
  driver->reset(new EmulatedDriver(std::move(machine)));
  return plugin::ok();
}

EmulatedDriver::EmulatedDriver(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {
  fill_device_entries(table_);
  fill_context_entries(table_);
  fill_memory_entries(table_);
  fill_copy_entries(table_);
  fill_pool_entries(table_);
  fill_stream_entries(table_);
  fill_event_entries(table_);
  fill_code_entries(table_);
  fill_graph_entries(table_);
  fill_partition_entries(table_);
  table_.explain = [] { return std::string(thread_state().explanation.data()); };
}

EmulatedDriver::~EmulatedDriver() { set_machine(nullptr); }

}  // namespace sluice::cuda::emulator
