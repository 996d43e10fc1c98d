#include "exec/device_constants.h"

#include <utility>

namespace sluice::exec {

BringConstant bring_to(std::shared_ptr<device::DeviceServiceTable> devices) {
  return [devices = std::move(devices)](
             const backend::Group& group, const Bytes& constant,
             const std::stop_token& stop) -> Result<std::shared_ptr<const void>> {
    const auto services = SLUICE_TRY(devices->of(group.shared_backend(), group.device()));
    if (services == nullptr) return std::shared_ptr<const void>();
    return services->constants.bring(constant, stop);
  };
}

}  // namespace sluice::exec
