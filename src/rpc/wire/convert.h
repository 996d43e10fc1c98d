// Messages to the service's plain data and back. Peers are hostile: a value of a message is checked
// here, or by the function that takes it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "proto/sluice/v1/control.pb.h"
#include "proto/sluice/v1/inference.pb.h"
#include "terms/core_request.h"
#include "terms/load.h"
#include "terms/server/server.h"
#include "terms/tensors/exchange.h"
#include "terms/tensors/request.h"

namespace sluice::rpc::wire {

// To messages.
void to_proto(const terms::ServerInfo& from, v1::GetServerResponse& to);
void to_proto(const terms::ServerHealth& from, v1::GetHealthResponse& to);
void to_proto(const terms::SessionInfo& from, v1::Session& to);
void to_proto(const terms::GroupEntry& from, v1::Group& to);
void to_proto(const terms::RegionInfo& from, v1::Region& to);
void to_proto(const terms::ModelEntry& from, v1::Model& to);
void to_proto(const terms::Footprint& from, v1::Footprint& to);
void to_proto(const terms::ModelStatistics& from, v1::ModelStatistics& to);
void to_proto(const terms::ServerStatistics& from, v1::GetStatisticsResponse& to);
void to_proto(const terms::CoreRequest& from, v1::CreateGroupRequest& to);
/// Copies the bytes.
void to_proto(const terms::TensorView& from, std::string_view name, v1::Tensor& to);
void to_proto(const terms::ReplyDetail& from, v1::InferDetail& to);

// From messages. Those of a client to the server fail with kInvalid where a number cannot be.
Result<terms::CoreRequest> from_proto(const v1::CreateGroupRequest& from);
Result<terms::CoreGroupId> group_from_proto(std::uint64_t handle);
/// None for an empty name.
Result<std::optional<terms::Isolation>> isolation_from_proto(const std::string& name);
/// A load, but for the bytes of its upload.
struct LoadSettings {
  terms::LoadOptions options;
  bool only_estimates = false;
  std::int64_t upload_bytes = 0;  ///< at most the limit; 0: a load by path
  std::string path;               ///< of the server
  std::string file_version;       ///< what the client sees at `path`; empty: whatever is there
};
/// Fails: kInvalid; kOutOfResources for an upload that is larger than the limit.
Result<LoadSettings> from_proto(const v1::LoadOptions& from, std::int64_t max_upload_bytes);
/// Without the source of the package.
void to_proto(const terms::LoadOptions& from, v1::LoadOptions& to);
/// An option that a daemon of this minor version of the protocol would read past; nullopt if it
/// knows all.
std::optional<std::string_view> newer_option(const terms::LoadOptions& options,
                                             std::uint32_t minor = 0);
terms::ServerInfo from_proto(const v1::GetServerResponse& from);
terms::ServerHealth from_proto(const v1::GetHealthResponse& from);
terms::SessionInfo from_proto(const v1::Session& from);
terms::RegionInfo from_proto(const v1::Region& from);
terms::GroupEntry from_proto(const v1::Group& from);
Result<terms::ModelEntry> from_proto(const v1::Model& from);
terms::Footprint from_proto(const v1::Footprint& from);
terms::ModelStatistics from_proto(const v1::ModelStatistics& from);
terms::ServerStatistics from_proto(const v1::GetStatisticsResponse& from);
terms::ReplyDetail from_proto(const v1::InferDetail& from);

/// Views into the bytes of `from`, which must outlive them. A tensor in shared memory has null data
/// and the size that its place says; one in the exchange has null data and size 0.
/// Fails: kBadInput for an element type that is none, a shape that is negative or too large, or
///        bytes that are not as many as type and shape say.
Result<terms::TensorView> view_of(const v1::Tensor& from);

terms::RegionSlice from_proto(const v1::Place& from);
void to_proto(const terms::RegionSlice& from, v1::Place& to);

/// One view per input of the signature, in its order. What lies in shared memory is opened by
/// `open(index, place)`, a tensor of the exchange by `find(index in the exchange)`.
/// Fails: kBadInput naming the input that is missing, unknown or there twice; as view_of; as
/// `open` and `find`.
using OpenPlace = std::function<Result<void*>(std::size_t index, const terms::RegionSlice& place)>;
using FindTensor = std::function<Result<terms::TensorView>(std::uint64_t exchange)>;
Result<std::vector<terms::TensorView>> inputs_of(const v1::InferRequest& request,
                                                 const terms::Signature& signature,
                                                 const OpenPlace& open, const FindTensor& find);

}  // namespace sluice::rpc::wire
