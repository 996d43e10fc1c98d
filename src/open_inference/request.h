// A request of the Open Inference Protocol, whatever its wire, and its answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/model_ref.h"
#include "runtime/request/request.h"
#include "service/region_slices.h"

namespace sluice::open_inference {

/// A tensor's bytes in a region that the client registered.
struct RegionPlace {
  std::string_view region;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// An input as it came. The views are the wire's, and live until the answer.
struct InputTensor {
  std::string_view name;
  std::string_view datatype;
  std::vector<std::int64_t> shape;
  std::string_view bytes;  ///< row-major, little-endian; strings as texts.h says
  std::optional<RegionPlace> place = std::nullopt;  ///< of the bytes, until open_regions reads them
};

/// An output that the client asks for.
struct WantedOutput {
  std::string_view name;
  /// The classification extension: the so many largest values, as texts; 0: the tensor itself.
  std::int64_t num_classes = 0;
  std::optional<RegionPlace> place = std::nullopt;  ///< where its bytes go, instead of the answer
  service::PlacedOutput target = {};                ///< the same, once open_regions has found it
};

struct InferRequest {
  std::vector<InputTensor> inputs;
  std::vector<WantedOutput> outputs;  ///< none: all, in the order of the signature
  std::uint64_t priority = 0;         ///< 1 is the highest, 0 the default
  std::int64_t timeout_us = 0;        ///< until the answer; 0: none
  std::optional<terms::SequencePart> sequence = std::nullopt;
  bool wants_wait = false;  ///< kWaitParameter: the answer says where the time went
};

/// A request with this parameter, true, gets those of wait_of.
inline constexpr std::string_view kWaitParameter = "sluice_wait";

/// Where the time of a request went.
struct Wait {
  /// What it waited for, before it ran: "requests" of the model that were before it, "rows" of
  /// others that ran with it, "cores"; "nothing" for a kept answer.
  std::string_view why = "nothing";
  std::int64_t num_ahead = 0;  ///< of these requests
  std::int64_t queue_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t compute_ns = 0;

  /// Its numbers by the name of their parameter, but for `why`, which is kWaitedFor.
  std::array<std::pair<std::string_view, std::int64_t>, 4> numbers() const {
    return {{{"sluice_ahead", num_ahead},
             {"sluice_queue_ns", queue_ns},
             {"sluice_copy_ns", copy_ns},
             {"sluice_compute_ns", compute_ns}}};
  }
};
inline constexpr std::string_view kWaitedFor = "sluice_waited_for";

/// Times of a reply to a request with `wants_detail`; other replies may lack the numbers.
Wait wait_of(const runtime::Reply& reply);

/// The protocol counts priorities from 1, the highest; the runtime's higher numbers run first, and
/// 0 is the default of both.
std::int32_t priority_of(std::uint64_t priority);
/// The end of a timeout from now on, 0 for none, but not behind `deadline_ns`.
std::int64_t deadline_of(std::int64_t timeout_us, std::int64_t deadline_ns, const Clock& clock);

/// The parameters sequence_id, sequence_start and sequence_end of a request: the id is a number, a
/// text, or 0 and empty for none. Nullopt: the request is for itself.
std::optional<terms::SequencePart> to_sequence(std::uint64_t number, std::string_view text,
                                               bool is_start, bool is_end);

/// CUDA shared memory is not served: no region of it is ever registered.
/// Fails: kInvalidHandle for the status of one, kUnimplemented for a registration.
Status find_cuda_region(std::string_view name);
Status register_cuda_region(std::string_view name);

/// As the parameters of a tensor name it: region and size go together, the offset may be absent.
/// Fails: kBadInput for a size of 0, one without a region, and a negative number.
Result<RegionPlace> to_place(std::string_view region, std::int64_t offset, std::int64_t size_bytes);

/// Memory that a request needs until it is answered, beyond the wire's.
using Owners = std::vector<std::shared_ptr<const void>>;

/// Copies inputs from the session's regions, and finds the places of outputs. Before `to_runtime`.
/// Copies count in the session's budget of answers.
/// Fails: kBadInput naming the tensor; kInvalidHandle; kOutOfResources.
Status open_regions(const service::ClientSession& session, InferRequest& request, Owners& owners);

/// The runtime's request, but for `memory_owner` and `on_done`. Numbers are read where the wire has
/// them; strings are copied into `owners`.
/// `deadline_ns`: the call's own, on the model's clock.
/// Fails: kBadInput naming the tensor; kInvalid for a part of a sequence where the model keeps
/// none.
Result<runtime::Request> to_runtime(const InferRequest& from, const dispatch::ModelRef& model,
                                    std::int64_t deadline_ns, Owners& owners);

struct OutputTensor {
  std::string_view name;  ///< the signature's
  std::string_view datatype;
  std::vector<std::int64_t> shape;
  std::string_view bytes;  ///< of the reply, or of `texts`
  std::string texts;
  /// Where the bytes went; null: they are in the answer, else `bytes` is empty.
  const RegionPlace* place = nullptr;
  std::uint64_t num_placed = 0;  ///< bytes that went there
};

/// The outputs that the request wants, in its order. They point into the reply and the signature.
/// Writes those that go to regions. Requires: the reply has outputs, and to_runtime took the
/// request.
/// Fails: kOutOfResources for a place that is too small; kBadInput for a region that was shrunk and
///        for classes of an output that has no numbers to compare; kFailed for a type that the
///        protocol lacks.
Result<std::vector<OutputTensor>> outputs_of(const runtime::Reply& reply, const InferRequest& from,
                                             const dispatch::ModelRef& model);

}  // namespace sluice::open_inference
