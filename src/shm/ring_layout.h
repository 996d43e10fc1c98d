// What lies where in the memory of a ring; docs/protocol.md has the same as a table.
//
// One page of control words, the submissions, the completions, then whatever the client likes. All
// numbers little-endian. The client writes submissions and their tail, and the completions' head;
// the daemon the others. Positions count entries since the start and wrap around at 2^32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::shm {

inline constexpr std::uint64_t kRingMagic = 0x31474E4952434C53;  // "SLCRING1"
inline constexpr std::uint32_t kRingVersion = 1;
inline constexpr std::uint32_t kMaxRingEntries = 1024;
inline constexpr std::size_t kMaxRingTensors = 20;
inline constexpr std::size_t kMaxRingRank = 8;
inline constexpr std::size_t kRingMessageBytes = 512;

/// A tensor and where its bytes are. Its place in the list is its index in the signature.
struct RingTensor {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< of an output that is asked for: room for it
  std::int32_t element_type = 0;
  std::uint32_t rank = 0;
  std::array<std::int64_t, kMaxRingRank> dims = {};
};
static_assert(sizeof(RingTensor) == 96);

/// What a submission asks for.
enum class SubmissionKind : std::uint16_t {
  kRequest = 0,
  kCancel = 1  ///< of the request whose id `model` holds; has no tensors
};

struct SubmissionHead {
  std::uint64_t request = 0;  ///< the client's; comes back with the completion
  std::uint64_t model = 0;
  std::int64_t timeout_ns = 0;  ///< from when the daemon sees it; 0: none
  std::int32_t priority = 0;
  std::uint32_t num_inputs = 0;
  std::uint32_t num_outputs = 0;
  SubmissionKind kind = SubmissionKind::kRequest;
  /// Flags of W3C's Trace Context; 1: sampled. A daemon before minor version 12 takes them for a
  /// part of `kind`, and refuses all but 0.
  std::uint16_t trace_flags = 0;
  /// The caller's span, in the order of traceparent; zeros: none. A daemon before minor version 12
  /// does not look.
  std::array<std::uint8_t, 16> trace_id = {};
  std::array<std::uint8_t, 8> span_id = {};
};
static_assert(sizeof(SubmissionHead) == 64);

struct Submission {
  SubmissionHead head;
  std::array<RingTensor, kMaxRingTensors> tensors;  ///< inputs, then outputs
};

struct CompletionHead {
  std::uint64_t request = 0;
  std::int32_t status_code = 0;   ///< gRPC's
  std::int32_t runtime_code = 0;  ///< docs/runtime.md, "Codes"
  std::uint32_t num_outputs = 0;
  std::uint32_t message_bytes = 0;
  std::array<std::uint32_t, 10> zero = {};
};
static_assert(sizeof(CompletionHead) == 64);

struct Completion {
  CompletionHead head;
  std::array<char, kRingMessageBytes> message = {};  ///< UTF-8, why it failed
  std::array<RingTensor, kMaxRingTensors> outputs;
};

struct RingHeader {
  std::uint64_t magic = kRingMagic;
  std::uint32_t version = kRingVersion;
  std::uint32_t num_entries = 0;  ///< of either ring; a power of two
};

/// A word on a cache line of its own.
struct alignas(64) RingWord {
  std::uint32_t value = 0;
};

/// Where a side sleeps: it sets `is_asleep`, looks once more and sleeps on `bell`, which the other
/// side raises when it has something to tell a sleeper.
struct alignas(64) RingBell {
  std::uint32_t bell = 0;
  std::uint32_t is_asleep = 0;
};

struct RingControl {
  alignas(64) RingHeader header;
  RingWord submission_tail;  ///< the client's
  RingWord submission_head;  ///< the daemon's
  RingWord completion_tail;  ///< the daemon's
  RingWord completion_head;  ///< the client's
  RingBell daemon_bell;
  RingBell client_bell;
  RingWord is_closed;  ///< the daemon's: 1 when it takes nothing more
};

inline constexpr std::uint64_t kRingControlBytes = 4096;
static_assert(sizeof(RingControl) <= kRingControlBytes);

constexpr std::uint64_t submissions_offset() { return kRingControlBytes; }
constexpr std::uint64_t completions_offset(std::uint32_t num_entries) {
  return submissions_offset() + sizeof(Submission) * num_entries;
}
/// Where the client's own part begins; a multiple of 64.
constexpr std::uint64_t ring_bytes(std::uint32_t num_entries) {
  return completions_offset(num_entries) + sizeof(Completion) * num_entries;
}
static_assert(sizeof(Submission) % 64 == 0 && sizeof(Completion) % 64 == 0);

}  // namespace sluice::shm
