// Takes any bytes as the memory of a ring whose client writes what it likes: the daemon's side
// drains it, checks each entry as a request of a model, and completes it. Whatever is in there, the
// bytes outside of the ring and of its outputs stay as they are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ir/type.h"
#include "service/ring_request.h"
#include "shm/ring_client.h"
#include "shm/ring_server.h"
#include "shm/shared_memory.h"

namespace {

using sluice::service::Session;
namespace shm = sluice::shm;

constexpr std::uint32_t kEntries = 4;
constexpr std::size_t kBytes = shm::ring_bytes(kEntries) + 4096;
constexpr std::uint64_t kRegion = 1;

/// x: f32[N,4] and i: i64[2]; y: f32[N,4].
const sluice::package::Signature& signature() {
  static const auto kSignature = [] {
    sluice::package::Signature made;
    made.inputs = {{"x", sluice::ir::parse_type("f32[N,4]").value()},
                   {"i", sluice::ir::parse_type("i64[2]").value()}};
    made.outputs = {{"y", sluice::ir::parse_type("f32[N,4]").value()}};
    return made;
  }();
  return kSignature;
}

/// A session with one region, and this process as its client.
struct Fixture {
  shm::SharedMemory memory = shm::SharedMemory::create(kBytes).value();
  std::shared_ptr<shm::Region> region = shm::Region::adopt(memory.fd(), kBytes).value();
  Session session{sluice::service::SessionId{1}, "fuzz", {}, "token", 0, {}};

  Fixture() {
    if (!session.add_region(kRegion, region).is_ok()) std::abort();
  }
};

/// As an engine would answer: outputs of the first input's size.
sluice::runtime::Reply reply_to(const sluice::service::RingRequest& request) {
  sluice::runtime::Reply reply;
  sluice::exec::TensorView y = request.inputs[0];
  reply.outputs.push_back({y, request.owners[0]});
  return reply;
}

void serve(shm::RingServer& ring, const shm::Submission& entry, const Session& session) {
  static const std::vector<bool> kInPlace = {true, false};
  shm::Completion completion;
  completion.head.request = entry.head.request;
  const auto request = sluice::service::read_ring_request(entry, signature(), session, &kInPlace);
  if (!request.is_ok()) {
    sluice::service::write_completion(request.status(), completion);
  } else {
    for (const sluice::exec::TensorView& view : request->inputs) {
      // All of each input can be read.
      const auto* bytes = static_cast<const volatile char*>(view.data);
      for (std::int64_t i = 0; i < view.size_bytes; i += 64) (void)bytes[i];
    }
    sluice::service::write_completion(reply_to(*request), *request, signature(), completion);
  }
  ring.complete(completion);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fixture fixture;
  const auto memory = fixture.memory.memory();
  std::memset(memory.data(), 0, memory.size());
  std::memcpy(memory.data(), data, std::min(size, memory.size()));
  if (!shm::RingServer::create(memory).is_ok()) {
    shm::RingClient::format(memory, kEntries);  // the rest is worth trying all the same
  }
  auto ring = shm::RingServer::create(memory);
  if (!ring.is_ok()) std::abort();
  shm::Submission entry;
  // The client's words stay as they are, so it ends when they have been reached or make no sense.
  for (int i = 0; i < 64; ++i) {
    switch (ring->take(entry)) {
      case shm::RingServer::Take::kEntry: serve(*ring, entry, fixture.session); break;
      case shm::RingServer::Take::kBad: {
        shm::Completion completion;
        ring->complete(completion);
        break;
      }
      case shm::RingServer::Take::kNone:
      case shm::RingServer::Take::kBroken: ring->close(); return 0;
    }
  }
  return 0;
}
