#include "engine/simulator.h"

#include <algorithm>
#include <limits>

#include "engine/partition.h"

namespace sluice::sim {
namespace {

/// The time of an event that is not scheduled. Deadlines end one earlier, so no deadline reaches
/// it.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::string quoted_list(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

Station link_station(int from, int to) {
  std::string name = "link";
  name += std::to_string(from);
  name += '-';
  name += std::to_string(to);
  return {.name = std::move(name)};
}

}  // namespace

Simulator::Simulator(Description description)
    : description_(std::move(description)),
      random_(description_.seed),
      log_(description_.max_log_bytes),
      memories_(description_.devices) {
  for (std::size_t i = 0; i < description_.devices.size(); ++i) {
    const Device& device = description_.devices[i];
    const std::string name = "device" + std::to_string(i);
    DeviceState& state = devices_.emplace_back();
    state.group_of_core.resize(static_cast<std::size_t>(device.cores));
    state.to_device = {.name = name + ".to_device", .servers = device.to_device.engines};
    state.to_host = {.name = name + ".to_host", .servers = device.to_host.engines};
    state.within = {.name = name + ".within", .servers = device.within.engines};
  }
  for (const Link& link : description_.links) {
    links_.push_back(
        {link_station(link.device_a, link.device_b), link_station(link.device_b, link.device_a)});
  }
  for (const Fault& fault : description_.faults) inject(fault);
}

Status Simulator::check_device(int device) const {
  if (device >= 0 && device < num_devices()) return plugin::ok();
  return {SLUICE_NOT_FOUND,
          "no device " + std::to_string(device) + "; there are " + std::to_string(num_devices())};
}

const Device& Simulator::device_of(const Group& group) const {
  return description_.devices[static_cast<std::size_t>(group.device)];
}

// ---- memory -------------------------------------------------------------------------------------

Status Simulator::allocate(int device, std::int64_t size_bytes, void** address) {
  const std::lock_guard lock(mutex_);
  if (state_of(device).is_lost) return lost_status(device);
  Status status = memories_.allocate(device, size_bytes, address);
  // Asked after a success alone, because the fault counts allocations that would succeed.
  if (status.is_ok() && faults_.hit(FaultKind::kMemoryExhausted, {device}, now_ns_) != nullptr) {
    memories_.free(*address);
    status = {SLUICE_RESOURCE_EXHAUSTED, "device " + std::to_string(device) + ": " +
                                             std::to_string(size_bytes) +
                                             " bytes refused by an injected fault"};
  }
  log_.add(now_ns_, status.is_ok() ? "allocate" : "allocate_failed", "device=", device,
           " bytes=", size_bytes, " used=", memories_.used_bytes(device));
  return status;
}

Status Simulator::check_memory(int device, const void* address, std::int64_t size_bytes) const {
  const std::lock_guard lock(mutex_);
  if (Status status = check_device(device); !status.is_ok()) return status;
  if (size_bytes >= 0 && size_bytes <= memories_.room_at(device, address)) return plugin::ok();
  return plugin::invalid_argument(std::to_string(size_bytes) +
                                  " bytes at this address are no memory of device " +
                                  std::to_string(device));
}

void Simulator::free(int device, void* address) {
  const std::lock_guard lock(mutex_);
  const std::int64_t size_bytes = memories_.free(address);
  if (size_bytes < 0 || !check_device(device).is_ok()) return;
  log_.add(now_ns_, "free", "device=", device, " bytes=", size_bytes,
           " used=", memories_.used_bytes(device));
}

std::int64_t Simulator::memory_used_bytes(int device) const {
  const std::lock_guard lock(mutex_);
  return memories_.used_bytes(device);
}

// ---- groups, streams, lists ---------------------------------------------------------------------

Status Simulator::check_cores(int device, std::span<const std::int32_t> cores) const {
  const auto& groups = devices_[static_cast<std::size_t>(device)].group_of_core;
  const bool is_exclusive = description_.devices[static_cast<std::size_t>(device)].exclusive_cores;
  const std::string where = " of device " + std::to_string(device);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const std::string core = "core " + std::to_string(cores[i]) + where;
    if (cores[i] < 0 || static_cast<std::size_t>(cores[i]) >= groups.size()) {
      return {SLUICE_OUT_OF_RANGE,
              "no " + core + "; it has " + std::to_string(groups.size()) + ", from 0"};
    }
    if (std::ranges::count(cores.first(i), cores[i]) > 0) {
      return plugin::invalid_argument(core + " is named twice");
    }
    const Group* owner = groups[static_cast<std::size_t>(cores[i])];
    if (owner == nullptr || !is_exclusive) continue;
    return {SLUICE_RESOURCE_EXHAUSTED, core + " is in use by group " + std::to_string(owner->id) +
                                           ": destroy that first, or take another"};
  }
  return plugin::ok();
}

Status Simulator::create_group(int device, std::span<const std::int32_t> cores, Group** group) {
  const std::lock_guard lock(mutex_);
  if (Status status = check_cores(device, cores); !status.is_ok()) return status;
  if (state_of(device).is_lost) return lost_status(device);
  auto made = std::make_unique<Group>();
  made->simulator = this;
  made->id = ++num_groups_;
  made->device = device;
  made->cores.assign(cores.begin(), cores.end());
  const Device& described = description_.devices[static_cast<std::size_t>(device)];
  made->granted_cores =
      granted_cores(described.partition, static_cast<int>(cores.size()), described.cores);
  made->station.name = "group" + std::to_string(made->id);
  for (const std::int32_t core : cores) {
    state_of(device).group_of_core[static_cast<std::size_t>(core)] = made.get();
  }
  log_.add(now_ns_, "group_create", "group=", made->id, " device=", device,
           " cores=", quoted_list(made->cores));
  if (made->granted_cores != static_cast<int>(cores.size())) {
    log_.add(now_ns_, "group_granted", "group=", made->id, " cores=", made->granted_cores);
  }
  *group = made.release();
  return plugin::ok();
}

void Simulator::destroy_group(Group* group) {
  const std::lock_guard lock(mutex_);
  std::ranges::replace(state_of(group->device).group_of_core, group, nullptr);
  log_.add(now_ns_, "group_destroy", "group=", group->id);
  delete group;
}

Stream* Simulator::create_stream(Group* group) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<Stream>();
  made->group = group;
  made->id = ++num_streams_;
  streams_[made->id] = made.get();
  return made.release();
}

void Simulator::destroy_stream(Stream* stream) {
  const std::lock_guard lock(mutex_);
  // Runs still queued when no event is left can never finish: a kernel hangs.
  while (!stream->runs.empty() && next_event() != kNever) happen();
  Station* freed = detach(*stream);
  // Others may wait for what this stream would have recorded.
  std::vector<std::shared_ptr<Recording>> dropped;
  for (const Run& run : stream->runs) {
    if (run.list != nullptr) run.list->is_running = false;
    if (run.recording != nullptr && !run.is_wait) dropped.push_back(run.recording);
  }
  streams_.erase(stream->id);
  for (const auto& recording : dropped) happened(*recording);
  if (freed != nullptr) dispatch(*freed);  // the stream no longer holds its station
  delete stream;
}

CommandList* Simulator::create_list(Group* group) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<CommandList>();
  made->group = group;
  made->id = ++num_lists_;
  return made.release();
}

void Simulator::destroy_list(CommandList* list) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, stream] : streams_) {
    const bool is_under_way = !stream->runs.empty() && stream->runs.front().list == list;
    Station* freed = is_under_way ? detach(*stream) : nullptr;
    std::erase_if(stream->runs, [&](const Run& run) { return run.list == list; });
    if (is_under_way) start_next(*stream);
    if (freed != nullptr) dispatch(*freed);
  }
  delete list;
}

std::int64_t Simulator::next_kernel_id() {
  const std::lock_guard lock(mutex_);
  return ++num_kernels_;
}

// ---- work and time ------------------------------------------------------------------------------

Status Simulator::submit(Stream* stream, CommandList* list, std::span<void* const> bindings) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [](std::string text) {
    return Status{SLUICE_FAILED_PRECONDITION, std::move(text)};
  };
  if (!list->is_finished) return refuse("the command list is not finished");
  if (list->is_running) return refuse("the command list's last run is not done");
  if (list->group != stream->group) return refuse("the command list is of another group");
  const bool has_kernels = list->program != 0;
  if (has_kernels && list->group->cores.empty()) {
    return refuse("the group has no cores: it copies, and runs no kernels");
  }
  if (bindings.size() < static_cast<std::size_t>(list->num_bindings)) {
    return refuse("the command list names " + std::to_string(list->num_bindings) +
                  " bindings, got " + std::to_string(bindings.size()));
  }
  log_.add(now_ns_, "submit", "stream=", stream->id, " list=", list->id,
           " steps=", static_cast<std::int64_t>(list->commands.size()));
  list->is_running = true;
  push(*stream,
       {.order = ++num_submissions_, .list = list, .bindings = {bindings.begin(), bindings.end()}});
  return plugin::ok();
}

Status Simulator::wait(Stream* stream, std::int64_t timeout_ns) {
  const std::lock_guard lock(mutex_);
  // Virtual time: a wait does not sleep, it processes events until the stream is idle or the next
  // event is past the deadline.
  const bool is_endless = timeout_ns < 0 || timeout_ns > kNever - 1 - now_ns_;
  const std::int64_t deadline = is_endless ? kNever - 1 : now_ns_ + timeout_ns;
  while (!stream->runs.empty()) {
    const std::int64_t next = next_event();
    if (next > deadline) {
      if (is_endless) return stuck_status(*stream);
      now_ns_ = deadline;
      return {SLUICE_DEADLINE_EXCEEDED, "stream " + std::to_string(stream->id) +
                                            " is not done after " + std::to_string(timeout_ns) +
                                            " ns: " + describe(*stream)};
    }
    happen();
  }
  return std::exchange(stream->first_error, plugin::ok());
}

std::int64_t Simulator::next_event() const {
  return events_.empty() ? kNever : std::max(now_ns_, events_.begin()->first.first);
}

void Simulator::happen() {
  const auto [key, change] = *events_.begin();
  events_.erase(events_.begin());
  now_ns_ = std::max(now_ns_, key.first);
  if (change.stream != nullptr) return complete(*change.stream);
  // The loss of a device. A program may have cleared the fault after the loss was scheduled.
  for (const Fault& fault : faults_.all()) {
    if (fault.id == change.loss) return lose(fault.device);
  }
}

EventKey Simulator::schedule(std::int64_t time_ns, Change change) {
  // The number orders events of the same time, so that a simulation is deterministic.
  const EventKey key = {time_ns, ++num_events_};
  events_[key] = change;
  return key;
}

std::int64_t Simulator::now_ns() const {
  const std::lock_guard lock(mutex_);
  return now_ns_;
}

std::int64_t Simulator::next_event_ns() const {
  const std::lock_guard lock(mutex_);
  return next_event();
}

void Simulator::advance_to(std::int64_t time_ns) {
  const std::lock_guard lock(mutex_);
  while (next_event() <= time_ns && !events_.empty()) happen();
  now_ns_ = std::max(now_ns_, time_ns);
}

std::string Simulator::log() const {
  const std::lock_guard lock(mutex_);
  return log_.text();
}

}  // namespace sluice::sim
