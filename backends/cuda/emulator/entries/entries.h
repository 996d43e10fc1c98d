// The functions of the driver table over the emulated machine, by group.
#pragma once

#include "driver/driver_table.h"

namespace sluice::cuda::emulator {

// Each sets the pointers of its group.
void fill_device_entries(DriverTable& table);
void fill_context_entries(DriverTable& table);
void fill_memory_entries(DriverTable& table);
void fill_copy_entries(DriverTable& table);
void fill_pool_entries(DriverTable& table);
void fill_stream_entries(DriverTable& table);
void fill_event_entries(DriverTable& table);
void fill_code_entries(DriverTable& table);
void fill_graph_entries(DriverTable& table);
void fill_partition_entries(DriverTable& table);

}  // namespace sluice::cuda::emulator
