// Handles that the emulator gives out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace sluice::cuda::emulator {

/// Returns a number that was never returned before in this process.
std::uintptr_t next_handle();

/// Objects by handle. A handle is a number, never an address, and none is given out twice: a call
/// with one that was destroyed finds nothing. Not locked; the machine's lock guards it.
template <typename Handle, typename Object>
class Registry {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(next_handle());
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Null if the handle is unknown.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(handle);
    return found != objects_.end() ? found->second : nullptr;
  }
  std::shared_ptr<Object> remove(Handle handle) {
    auto object = find(handle);
    objects_.erase(handle);
    return object;
  }
  const std::map<Handle, std::shared_ptr<Object>>& all() const { return objects_; }

 private:
  std::map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace sluice::cuda::emulator
