#include "device/device_services.h"

#include "base/process/with_lock.h"

namespace sluice::device {

Result<std::shared_ptr<DeviceServices>> DeviceServiceTable::of(
    const std::shared_ptr<const backend::Backend>& backend, int device) {
  if (!needs_transfers(backend->devices()[static_cast<std::size_t>(device)])) {
    return std::shared_ptr<DeviceServices>();
  }
  const std::lock_guard lock(mutex_);
  std::shared_ptr<DeviceServices>& services = services_[Key(backend->name(), device)];
  if (services != nullptr) return services;
  auto streams = std::make_shared<StreamLedger>();
  auto transfers = SLUICE_TRY(SharedTransfers::create(backend, device, clock_, options_, streams));
  // No slack: memory that models free returns to the device at once, so that the usage it reports
  // is accurate.
  const auto memory = MemoryPool::of_device(backend, device, {.slack_bytes = 0});
  services = std::make_shared<DeviceServices>(memory, transfers, std::move(streams));
  return services;
}

std::shared_ptr<DeviceServices> DeviceServiceTable::find(const std::string& backend,
                                                         int device) const {
  const std::lock_guard lock(mutex_);
  const auto it = services_.find(Key(backend, device));
  return it == services_.end() ? nullptr : it->second;
}

std::optional<int> DeviceServiceTable::find_linked(const Bytes& bytes,
                                                   const backend::Backend& backend,
                                                   int device) const {
  for (const backend::Link& link : backend.links()) {
    if (link.device_a != device && link.device_b != device) continue;
    const int other = link.device_a == device ? link.device_b : link.device_a;
    const auto services = find(backend.name(), other);
    if (services == nullptr) continue;
    const auto size_bytes = static_cast<std::int64_t>(bytes.size());
    if (services->constants.find(bytes.data(), size_bytes) != nullptr) return other;
  }
  return std::nullopt;
}

Result<BroughtBytes> DeviceServiceTable::bring(
    const Bytes& bytes, const std::shared_ptr<const backend::Backend>& backend, int device,
    const std::function<Status()>& fetch) {
  const auto services = SLUICE_TRY(of(backend, device));
  if (services == nullptr) {
    return make_error(Code::kFailedPrecondition,
                      "device {} of {} works on the host's memory, where the bytes are", device,
                      backend->name());
  }
  struct Held {
    std::shared_ptr<const void> name;  ///< goes last
    std::shared_ptr<const void> copy;
  };
  const auto held = std::make_shared<Held>(Held{enter(kExchangeClient), nullptr});
  BroughtBytes brought;
  const auto size_bytes = static_cast<std::int64_t>(bytes.size());
  const bool is_there = services->constants.find(bytes.data(), size_bytes) != nullptr;
  brought.from = is_there ? std::optional(device) : find_linked(bytes, *backend, device);
  const auto linked = brought.from && !is_there ? find(backend->name(), *brought.from) : nullptr;
  if (!brought.from && fetch) SLUICE_TRY(fetch());
  held->copy = SLUICE_TRY(
      services->constants.bring(bytes, {}, linked == nullptr ? nullptr : &linked->constants));
  brought.copy = std::shared_ptr<const void>(held, held->copy.get());
  return brought;
}

std::shared_ptr<const void> DeviceServiceTable::enter(const std::string& name) {
  with_lock(names_->mutex, [&] { ++names_->count_of[name]; });
  // Anything but null; the deleter is what counts.
  return {names_.get(), [names = names_, name](const Names*) {
            const std::lock_guard lock(names->mutex);
            const auto found = names->count_of.find(name);
            if (--found->second == 0) names->count_of.erase(found);
          }};
}

std::set<std::string> DeviceServiceTable::Names::now() {
  const std::lock_guard lock(mutex);
  std::set<std::string> names;
  for (const auto& [name, count] : count_of) names.insert(name);
  return names;
}

std::vector<LeftBehind> DeviceServiceTable::left_on(const DeviceServices& device) const {
  // Names before and behind: what comes or ends meanwhile left nothing.
  std::set<std::string> here = names_->now();
  const MemoryUsage memory = device.memory.usage();
  const StreamUsage streams = device.streams->usage();
  here.merge(names_->now());
  std::map<std::string, LeftBehind> left;
  for (const auto& [client, levels] : memory.by_client) {
    const std::int64_t bytes = memory.bytes_of(client);
    const bool is_left = client == kConstantsClient ? here.empty() : !here.contains(client);
    if (bytes > 0 && is_left) left[client].memory_bytes = bytes;
  }
  for (const auto& [owner, count] : streams.in_use) {
    const bool is_lane = owner == kToDevice || owner == kFromDevice;
    if (!is_lane && !here.contains(owner)) left[owner].num_streams = count;
  }
  std::vector<LeftBehind> all;
  for (auto& [client, one] : left) {
    one.client = client;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace sluice::device
