// Memory of the device, copies and fills.
//
// Every range is checked against the guest's own memory before the driver sees it. Host memory is
// the shared memory of the calls, which is pageable for the driver: it takes or fills the bytes
// before it returns. Captures refuse such copies: a graph would read the memory later.
#include <algorithm>
#include <optional>

#include "guest/proxy/guest.h"

namespace sluice::guest {
namespace {

using cuda::CuResult;

CuResult memory_info(Guest& guest, const Call& /*call*/, Answer& answer) {
  std::size_t free = 0;
  std::size_t total = 0;
  const CuResult result = guest.driver().mem_get_info(&free, &total);
  if (result != CuResult::kSuccess) return result;
  answer.words[0] = std::min<std::uint64_t>(guest.quota() - guest.used_bytes(), free);
  answer.words[1] = guest.quota();
  return CuResult::kSuccess;
}

CuResult allocate(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<MemoryBody>(call.body);
  const CuResult result = guest.allocate(body.bytes, guest.memory_stream(), answer.words.data());
  if (result != CuResult::kSuccess) return result;
  // From now on any stream may use it.
  return guest.driver().stream_synchronize(guest.memory_stream());
}

/// The pool gives memory back at a wait, so that cudaMemGetInfo is right behind a free.
CuResult free_memory(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<MemoryBody>(call.body);
  CuResult result = guest.wait_for_all();
  if (result == CuResult::kSuccess) result = guest.free(body.target, guest.memory_stream());
  if (result != CuResult::kSuccess) return result;
  return guest.driver().stream_synchronize(guest.memory_stream());
}

/// Not in a capture: each launch of the graph would take memory that the quota does not count.
CuResult allocate_in_order(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<MemoryBody>(call.body);
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter_outside_captures(body.stream, &stream);
  if (result != CuResult::kSuccess) return result;
  return guest.allocate(body.bytes, stream->stream, answer.words.data());
}

CuResult free_in_order(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<MemoryBody>(call.body);
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter_outside_captures(body.stream, &stream);
  return result == CuResult::kSuccess ? guest.free(body.target, stream->stream) : result;
}

/// `body` with `size_bytes` at `address`, as a piece of a copy that lies in the guest's memory.
/// None: it does not.
std::optional<CopyPiece> piece_of(const Guest& guest, device::Direction direction,
                                  const MemoryBody& body, std::uint64_t address,
                                  std::uint64_t size_bytes) {
  const std::uint64_t rest_bytes = std::max(body.rest_bytes, size_bytes);
  if (!guest.owns(address, rest_bytes)) return std::nullopt;
  return CopyPiece{.direction = direction,
                   .address = address,
                   .size_bytes = size_bytes,
                   .rest_bytes = rest_bytes,
                   .stream = body.stream};
}

CuResult copy_in(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<MemoryBody>(call.body);
  const auto piece =
      piece_of(guest, device::Direction::kToDevice, body, body.target, call.payload.size());
  if (!piece) return CuResult::kInvalidValue;
  return guest.copy(*piece, [&](cuda::CuStream stream) {
    return guest.driver().memcpy_htod_async(body.target, call.payload.data(), call.payload.size(),
                                            stream);
  });
}

CuResult copy_out(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<MemoryBody>(call.body);
  const auto piece = piece_of(guest, device::Direction::kFromDevice, body, body.source, body.bytes);
  if (!piece || body.bytes > answer.room.size()) return CuResult::kInvalidValue;
  const CuResult result = guest.copy(*piece, [&](cuda::CuStream stream) {
    return guest.driver().memcpy_dtoh_async(answer.room.data(), body.source, body.bytes, stream);
  });
  if (result == CuResult::kSuccess) answer.payload_bytes = static_cast<std::uint32_t>(body.bytes);
  return result;
}

CuResult copy_within(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<MemoryBody>(call.body);
  if (!guest.owns(body.source, body.bytes) || !guest.owns(body.target, body.bytes)) {
    return CuResult::kInvalidValue;
  }
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter(body.stream, &stream);
  if (result != CuResult::kSuccess) return result;
  return guest.driver().memcpy_dtod_async(body.target, body.source, body.bytes, stream->stream);
}

CuResult fill(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<MemoryBody>(call.body);
  if (!guest.owns(body.target, body.bytes)) return CuResult::kInvalidValue;
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter(body.stream, &stream);
  if (result != CuResult::kSuccess) return result;
  return guest.driver().memset_d8_async(body.target, static_cast<unsigned char>(body.value),
                                        body.bytes, stream->stream);
}

}  // namespace

void fill_memory_entries(EntryTable& table) {
  table[CallKind::kMemoryInfo] = memory_info;
  table[CallKind::kAllocate] = allocate;
  table[CallKind::kFree] = free_memory;
  table[CallKind::kAllocateInOrder] = allocate_in_order;
  table[CallKind::kFreeInOrder] = free_in_order;
  table[CallKind::kCopyIn] = copy_in;
  table[CallKind::kCopyOut] = copy_out;
  table[CallKind::kCopyWithin] = copy_within;
  table[CallKind::kFill] = fill;
}

}  // namespace sluice::guest
