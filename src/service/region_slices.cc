#include "service/region_slices.h"

#include "base/system/aligned_memory.h"

namespace sluice::service {
namespace {

Result<std::shared_ptr<const shm::Region>> find(const ClientSession& session,
                                                const terms::RegionSlice& place) {
  auto region = session.find_region(place.region);
  if (region == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle,
                                "this session has no region {}; register it first", place.region);
  }
  const Status inside = region->check(place.offset, place.size_bytes);
  if (inside.is_ok()) return std::shared_ptr<const shm::Region>(std::move(region));
  return terms::runtime_error(RuntimeCode::kBadInput, "region {}: {}", place.region,
                              inside.message());
}

}  // namespace

Result<PlacedInput> open_input(const ClientSession& session, const terms::RegionSlice& place,
                               bool in_place) {
  auto region = SLUICE_TRY(find(session, place));
  if (in_place && !region->mapped().empty()) {
    void* data = region->mapped().data() + place.offset;
    return PlacedInput{data, std::move(region)};
  }
  auto copy = allocate_aligned(place.size_bytes);
  if (copy == nullptr) {
    return terms::runtime_error(RuntimeCode::kOutOfResources, "no memory for an input of {} bytes",
                                place.size_bytes);
  }
  const Status status = region->read(place.offset, {copy.get(), place.size_bytes});
  if (!status.is_ok()) return terms::with_runtime_code(status, RuntimeCode::kBadInput);
  void* data = copy.get();
  return PlacedInput{data, std::move(copy)};
}

Result<PlacedOutput> open_output(const ClientSession& session, const terms::RegionSlice& place) {
  return PlacedOutput{SLUICE_TRY(find(session, place)), place};
}

Status store(const PlacedOutput& output, const terms::TensorView& view, std::string_view name) {
  const auto size_bytes = static_cast<std::uint64_t>(view.size_bytes);
  if (size_bytes > output.place.size_bytes) {
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "output \"{}\" has {} bytes, and there is room for {}; give it more", name, size_bytes,
        output.place.size_bytes);
  }
  const Status status = output.region->write(
      output.place.offset, {static_cast<const std::byte*>(view.data), size_bytes});
  return status.is_ok() ? status : terms::with_runtime_code(status, RuntimeCode::kBadInput);
}

}  // namespace sluice::service
