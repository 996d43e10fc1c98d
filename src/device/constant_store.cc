#include "device/constant_store.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace sluice::device {

namespace {

std::string key_of(const void* data, std::size_t size_bytes) {
  // By address: models of one mapped package have the same bytes there. The copy keeps them mapped,
  // so the address is not given to others.
  return fmt::format("{} {}", data, size_bytes);
}

std::string key_of(const Bytes& bytes) { return key_of(bytes.data(), bytes.size()); }

}  // namespace

Result<std::shared_ptr<const void>> ConstantStore::bring(const Bytes& bytes,
                                                         const std::stop_token& stop,
                                                         const ConstantStore* linked) {
  auto copy =
      SLUICE_TRY(copies_.find_or_make(key_of(bytes), [&] { return upload(bytes, stop, linked); }));
  const void* address = copy->memory.address();
  // The pointer is to device memory and owns the copy.
  return std::shared_ptr<const void>(std::move(copy), address);
}

std::shared_ptr<const void> ConstantStore::find(const void* data, std::int64_t size_bytes) const {
  auto copy = copies_.find(key_of(data, static_cast<std::size_t>(size_bytes)));
  if (copy == nullptr) return nullptr;
  const void* address = copy->memory.address();
  return {std::move(copy), address};
}

Result<PooledMemory> ConstantStore::reserve(std::int64_t size_bytes) {
  return memory_.allocate(size_bytes, kConstantsClient, MemoryCategory::kConstants);
}

Result<std::shared_ptr<const void>> ConstantStore::adopt(const Bytes& bytes, PooledMemory memory) {
  auto copy = SLUICE_TRY(copies_.find_or_make(key_of(bytes), [&] {
    auto made = std::make_shared<OnDevice>();
    made->original = bytes;
    made->memory = std::move(memory);
    return Result<std::shared_ptr<const OnDevice>>(std::move(made));
  }));
  const void* address = copy->memory.address();
  return std::shared_ptr<const void>(std::move(copy), address);
}

Result<std::optional<Bytes>> ConstantStore::read_back(const Bytes& bytes) const {
  if (copies_.find(key_of(bytes)) == nullptr) return std::optional<Bytes>();
  MutableBytes value(bytes.size());
  if (!SLUICE_TRY(read_back(bytes, value.view().data()))) return std::optional<Bytes>();
  return std::optional<Bytes>(std::move(value).freeze());
}

Result<bool> ConstantStore::read_back(const Bytes& bytes, void* target) const {
  const auto copy = copies_.find(key_of(bytes));
  if (copy == nullptr) return false;
  SharedTransfers::Batch batch(client_);
  const std::array<Copy, 1> copies = {
      {{copy->memory.address(), target, static_cast<std::int64_t>(bytes.size())}}};
  SLUICE_TRY(batch.start(Direction::kFromDevice, copies));
  SLUICE_TRY(batch.wait());
  return true;
}

Result<std::shared_ptr<const ConstantStore::OnDevice>> ConstantStore::upload(
    const Bytes& bytes, const std::stop_token& stop, const ConstantStore* linked) {
  const auto size_bytes = static_cast<std::int64_t>(bytes.size());
  auto copy = std::make_shared<OnDevice>();
  copy->original = bytes;
  copy->memory = SLUICE_TRY(reserve(size_bytes));
  // Kept until the copy is done.
  const auto there = linked == nullptr ? nullptr : linked->find(bytes.data(), size_bytes);
  const void* source = there == nullptr ? bytes.data() : there.get();
  SharedTransfers::Batch batch(client_);
  const std::array<Copy, 1> copies = {{{source, copy->memory.address(), size_bytes}}};
  SLUICE_TRY(batch.start(Direction::kToDevice, copies));
  SLUICE_TRY(batch.wait(stop));
  return std::shared_ptr<const OnDevice>(std::move(copy));
}

}  // namespace sluice::device
