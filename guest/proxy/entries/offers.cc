// Memory that a guest offers to others, and opens of others. A guest may use the address of what it
// has opened, as if it had allocated it; both count the bytes.
#include <cstring>
#include <string>

#include "guest/proxy/guest.h"

namespace sluice::guest {
namespace {

using cuda::CuResult;

CuResult memory_offer(Guest& guest, const Call& call, Answer& answer) {
  std::string key;
  const CuResult result = guest.offer(from_body<MemoryBody>(call.body).target, &key);
  if (result != CuResult::kSuccess) return result;
  std::memcpy(answer.room.data(), key.data(), key.size());
  answer.payload_bytes = static_cast<std::uint32_t>(key.size());
  return CuResult::kSuccess;
}

CuResult memory_open(Guest& guest, const Call& call, Answer& answer) {
  if (call.payload.size() > kMaxKeyBytes) return CuResult::kInvalidValue;
  const std::string key(reinterpret_cast<const char*>(call.payload.data()), call.payload.size());
  return guest.open(key, answer.words.data(), &answer.words[1]);
}

CuResult memory_close(Guest& guest, const Call& call, Answer& /*answer*/) {
  return guest.close(from_body<MemoryBody>(call.body).target);
}

}  // namespace

void fill_offer_entries(EntryTable& table) {
  table[CallKind::kMemoryOffer] = memory_offer;
  table[CallKind::kMemoryOpen] = memory_open;
  table[CallKind::kMemoryClose] = memory_close;
}

}  // namespace sluice::guest
