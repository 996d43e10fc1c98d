#include "device/constant_store.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace sluice::device {

Result<std::shared_ptr<const void>> ConstantStore::bring(const Bytes& bytes,
                                                         const std::stop_token& stop) {
  const std::string key =
      fmt::format("{} {}", static_cast<const void*>(bytes.data()), bytes.size());
  auto copy = SLUICE_TRY(copies_.find_or_make(key, [&] { return upload(bytes, stop); }));
  const void* address = copy->memory.address();
  return std::shared_ptr<const void>(std::move(copy), address);
}

Result<std::shared_ptr<const ConstantStore::OnDevice>> ConstantStore::upload(
    const Bytes& bytes, const std::stop_token& stop) {
  const auto size_bytes = static_cast<std::int64_t>(bytes.size());
  auto copy = std::make_shared<OnDevice>();
  copy->original = bytes;
  copy->memory = SLUICE_TRY(memory_.allocate(size_bytes, "constants", MemoryCategory::kConstants));
  SharedTransfers::Batch batch(client_);
  const std::array<Copy, 1> copies = {{{bytes.data(), copy->memory.address(), size_bytes}}};
  SLUICE_TRY(batch.start(Direction::kToDevice, copies));
  SLUICE_TRY(batch.wait(stop));
  return std::shared_ptr<const OnDevice>(std::move(copy));
}

}  // namespace sluice::device
