#include "service/region_slices.h"

#include "base/system/aligned_memory.h"

namespace sluice::service {
namespace {

Result<std::shared_ptr<const shm::Region>> find(const ClientSession& session,
                                                const terms::RegionSlice& place) {
  auto region = session.find_region(place.region);
  if (region == nullptr) {
    SLUICE_TRY(session.check_open());
    return terms::runtime_error(RuntimeCode::kInvalidHandle,
                                "this session has no region {}; register it first", place.region);
  }
  const Status inside = region->check(place.offset, place.size_bytes);
  if (inside.is_ok()) return std::shared_ptr<const shm::Region>(std::move(region));
  return terms::runtime_error(RuntimeCode::kBadInput, "region {}: {}", place.region,
                              inside.message());
}

/// The part of a region that has a name, as a slice of the region.
Result<PlacedOutput> find_named(const ClientSession& session, std::string_view name,
                                const terms::RegionSlice& place) {
  auto held = session.find_named(name);
  if (held.region == nullptr) {
    SLUICE_TRY(session.check_open());
    return terms::runtime_error(RuntimeCode::kInvalidHandle,
                                "no region \"{}\" is registered; register it first",
                                name.substr(0, 200));
  }
  const std::uint64_t size = held.named->size_bytes;
  if (place.offset > size || place.size_bytes > size - place.offset) {
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "region \"{}\": {} bytes at {} do not lie in its {} bytes",
                                held.named->name, place.size_bytes, place.offset, size);
  }
  // No overflow: the part lies in the region.
  return PlacedOutput{std::move(held.region),
                      {held.handle, held.named->offset + place.offset, place.size_bytes}};
}

/// A private copy.
Result<PlacedInput> copy_of(const shm::Region& region, const terms::RegionSlice& place) {
  auto copy = allocate_aligned(place.size_bytes);
  if (copy == nullptr) {
    return terms::runtime_error(RuntimeCode::kOutOfResources, "no memory for an input of {} bytes",
                                place.size_bytes);
  }
  const Status status = region.read(place.offset, {copy.get(), place.size_bytes});
  if (!status.is_ok()) return terms::with_runtime_code(status, RuntimeCode::kBadInput);
  void* data = copy.get();
  return PlacedInput{data, std::move(copy)};
}

}  // namespace

Result<PlacedInput> open_input(const ClientSession& session, const terms::RegionSlice& place,
                               bool in_place) {
  auto region = SLUICE_TRY(find(session, place));
  if (in_place && !region->mapped().empty()) {
    void* data = region->mapped().data() + place.offset;
    return PlacedInput{data, std::move(region)};
  }
  return copy_of(*region, place);
}

Result<PlacedOutput> open_output(const ClientSession& session, const terms::RegionSlice& place) {
  return PlacedOutput{SLUICE_TRY(find(session, place)), place};
}

Result<PlacedInput> open_named_input(const ClientSession& session, std::string_view name,
                                     const terms::RegionSlice& place) {
  const PlacedOutput found = SLUICE_TRY(find_named(session, name, place));
  return copy_of(*found.region, found.place);
}

Result<PlacedOutput> open_named_output(const ClientSession& session, std::string_view name,
                                       const terms::RegionSlice& place) {
  return find_named(session, name, place);
}

Status store(const PlacedOutput& output, std::span<const std::byte> bytes, std::string_view name) {
  if (bytes.size() > output.place.size_bytes) {
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "output \"{}\" has {} bytes, and there is room for {}; give it more", name, bytes.size(),
        output.place.size_bytes);
  }
  const Status status = output.region->write(output.place.offset, bytes);
  return status.is_ok() ? status : terms::with_runtime_code(status, RuntimeCode::kBadInput);
}

Status store(const PlacedOutput& output, const terms::TensorView& view, std::string_view name) {
  const std::span bytes(static_cast<const std::byte*>(view.data),
                        static_cast<std::size_t>(view.size_bytes));
  return store(output, bytes, name);
}

}  // namespace sluice::service
