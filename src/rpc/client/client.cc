#include "rpc/client/client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "rpc/client/client_messages.h"
#include "rpc/client/connection.h"
#include "rpc/client/credentials.h"
#include "rpc/client/infer_client.h"
#include "rpc/client/ring_caller.h"
#include "rpc/client/ring_stream.h"
#include "rpc/client/side_client.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"
#include "rpc/wire/function_messages.h"
#include "rpc/wire/profile_messages.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::client {
namespace {

// The protocol's minor versions since which rings carry spans, and a daemon keeps posted requests.
constexpr std::uint32_t kRingSpans = 12, kPostedRequests = 13;
// A chunk of an upload: it needs a daemon whose max_message_bytes is larger.
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
// Limit of models that a client remembers; a forgotten one is asked for again.
constexpr std::size_t kMaxKnownModels = 1024;

using Stub = v1::Runtime::Stub;

/// What each message of a list says.
template <typename Messages>
auto all_of(const Messages& messages) {
  std::vector<decltype(wire::from_proto(*messages.begin()))> all;
  for (const auto& message : messages) all.push_back(wire::from_proto(message));
  return all;
}

/// The models of a response that lists some.
template <typename Response>
Result<std::vector<terms::ModelEntry>> models_of(const Response& response) {
  std::vector<terms::ModelEntry> models;
  for (const v1::Model& one : response.models()) {
    models.push_back(SLUICE_TRY(wire::from_proto(one)));
  }
  return models;
}

class GrpcClient final : public Client {
 public:
  GrpcClient(ClientOptions options, std::shared_ptr<grpc::Channel> channel)
      : connection_(std::move(options), std::move(channel)),
        token_(connection_.options().session_token) {}

  ~GrpcClient() override {
    // Ending the lease ends the session: the daemon unloads what it loaded.
    if (lease_ == nullptr) return;
    lease_context_.TryCancel();
    v1::OpenSessionResponse message;
    // A stream must be read to its end before Finish.
    while (lease_->Read(&message)) continue;
    (void)lease_->Finish();  // it says that we cancelled it
  }

  Result<terms::SessionId> open_session(const std::string& name) override {
    const std::lock_guard lock(session_mutex_);
    // One session for a client: its token goes with every call.
    if (lease_ != nullptr) return make_error(Code::kFailedPrecondition, "a session is open");
    SLUICE_TRY(connection_.wait_for_daemon());
    // Before token_ is set: the call that opens the session carries no session of its own.
    prepare(lease_context_);
    v1::OpenSessionRequest request;
    request.set_client(name);
    lease_ = connection_.stub().OpenSession(&lease_context_, request);
    v1::OpenSessionResponse response;
    if (!lease_->Read(&response)) {
      const Status status = connection_.answer_of(lease_->Finish());
      lease_ = nullptr;
      if (status.is_ok()) return make_error(Code::kInternal, "the daemon gave no session");
      return status;
    }
    token_ = response.token();
    connection_.begin_session();
    return terms::SessionId(response.session());
  }

  const std::string& session_token() const override { return token_; }

  Result<terms::ServerInfo> server() override {
    return wire::from_proto(SLUICE_TRY(ask(&Stub::GetServer, v1::GetServerRequest())));
  }

  Result<terms::ServerHealth> health() override {
    return wire::from_proto(SLUICE_TRY(ask(&Stub::GetHealth, v1::GetHealthRequest())));
  }

  Result<std::vector<terms::SessionInfo>> list_sessions() override {
    return all_of(SLUICE_TRY(ask(&Stub::ListSessions, v1::ListSessionsRequest())).sessions());
  }

  Status close_session(terms::SessionId session) override {
    v1::CloseSessionRequest request;
    request.set_session(static_cast<std::uint64_t>(session));
    return call(&Stub::CloseSession, request).status();
  }

  Result<terms::GroupEntry> create_group(const terms::CoreRequest& wanted,
                                         std::optional<terms::Isolation> isolation) override {
    v1::CreateGroupRequest request;
    wire::to_proto(wanted, request);
    if (isolation) request.set_isolation(std::string(terms::isolation_name(*isolation)));
    const auto response = SLUICE_TRY(call(&Stub::CreateGroup, request));
    return wire::from_proto(response.group());
  }

  Status destroy_group(std::uint64_t group) override {
    v1::DestroyGroupRequest request;
    request.set_group(group);
    return call(&Stub::DestroyGroup, request).status();
  }

  Result<std::vector<terms::GroupEntry>> list_groups() override {
    return all_of(SLUICE_TRY(ask(&Stub::ListGroups, v1::ListGroupsRequest())).groups());
  }

  Result<terms::ModelEntry> load(const terms::LoadOptions& options, const std::string& path,
                                 const std::string& file_version) override {
    v1::LoadModelResponse response;
    SLUICE_TRY(send_load(options, at_path(path, file_version), {}, response));
    return loaded(options, response);
  }

  Result<terms::ModelEntry> upload(const terms::LoadOptions& options,
                                   const std::string& path) override {
    return upload(options, SLUICE_TRY(map_file(path)));
  }

  Result<terms::ModelEntry> upload(const terms::LoadOptions& options,
                                   const Bytes& package) override {
    v1::LoadModelResponse response;
    SLUICE_TRY(send_load(options, upload_of(package), package, response));
    return loaded(options, response);
  }

  Result<terms::Footprint> estimate(const terms::LoadOptions& options, const std::string& path,
                                    bool is_upload) override {
    if (is_upload) return estimate(options, SLUICE_TRY(map_file(path)));
    return estimate(options, at_path(path, ""), {});
  }

  Result<terms::Footprint> estimate(const terms::LoadOptions& options,
                                    const Bytes& package) override {
    return estimate(options, upload_of(package), package);
  }

  Result<terms::ModelEntry> deploy_graph(const terms::GraphRequest& graph) override {
    v1::DeployGraphRequest request;
    wire::to_proto(graph, request);
    const auto response = SLUICE_TRY(call(&Stub::DeployGraph, request));
    return wire::from_proto(response.model());
  }

  Status unload(std::uint64_t model, std::int64_t drain_ns) override {
    v1::UnloadModelRequest request;
    request.set_model(model);
    request.set_drain_ns(drain_ns);
    return call(&Stub::UnloadModel, request).status();
  }

  Status start(std::uint64_t model) override {
    v1::StartModelRequest request;
    request.set_model(model);
    return call(&Stub::StartModel, request).status();
  }

  Status stop(std::uint64_t model, std::int64_t drain_ns) override {
    v1::StopModelRequest request;
    request.set_model(model);
    request.set_drain_ns(drain_ns);
    return call(&Stub::StopModel, request).status();
  }

  Status reset(std::uint64_t model) override {
    v1::ResetModelRequest request;
    request.set_model(model);
    return call(&Stub::ResetModel, request).status();
  }

  Result<std::vector<terms::ModelEntry>> reset_device(std::int32_t device) override {
    v1::ResetDeviceRequest request;
    request.set_device(device);
    return models_of(SLUICE_TRY(call(&Stub::ResetDevice, request)));
  }

  Result<std::vector<terms::ModelEntry>> list_models(std::uint64_t model) override {
    v1::ListModelsRequest request;
    request.set_model(model);
    return models_of(SLUICE_TRY(ask(&Stub::ListModels, request)));
  }

  Result<std::vector<terms::ModelStatistics>> statistics(std::uint64_t model) override {
    v1::GetStatisticsRequest request;
    request.set_model(model);
    return all_of(SLUICE_TRY(ask(&Stub::GetStatistics, request)).models());
  }

  Result<terms::ServerStatistics> all_statistics() override {
    return wire::from_proto(SLUICE_TRY(ask(&Stub::GetStatistics, v1::GetStatisticsRequest())));
  }

  Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings) override {
    v1::StartProfileRequest request;
    wire::to_proto(settings, request);
    const auto response = SLUICE_TRY(call(&Stub::StartProfile, request));
    return response.profile();
  }

  Result<terms::Profile> stop_profile(std::uint64_t id) override {
    SLUICE_TRY(connection_.wait_for_daemon());
    grpc::ClientContext context;
    prepare(context);
    v1::StopProfileRequest request;
    request.set_profile(id);
    const auto reader = connection_.stub().StopProfile(&context, request);
    terms::Profile profile;
    v1::StopProfileResponse part;
    Status read = ok_status();
    while (reader->Read(&part)) {
      // After a bad part the rest is still read: Finish waits for the end of the stream.
      if (read.is_ok()) read = wire::add_part(part, profile);
    }
    SLUICE_TRY(connection_.answer_of(reader->Finish()));
    SLUICE_TRY(std::move(read));
    // Parts refer to each other (arrows, processes), so only the whole can be checked.
    SLUICE_TRY(wire::check_profile(profile));
    return profile;
  }

  Result<std::uint64_t> put_tensor(const terms::TensorView& view, std::int64_t ttl_ns) override {
    v1::PutTensorRequest request;
    wire::to_proto(view, "", *request.mutable_tensor());
    request.set_ttl_ns(ttl_ns);
    const auto response = SLUICE_TRY(call(&Stub::PutTensor, request));
    return response.exchange();
  }

  Result<InferReply> get_tensor(std::uint64_t exchange) override {
    v1::GetTensorRequest request;
    request.set_exchange(exchange);
    auto response = std::make_shared<v1::GetTensorResponse>();
    SLUICE_TRY(call(&Stub::GetTensor, request, *response));
    InferReply reply;
    reply.outputs.push_back({"", SLUICE_TRY(wire::view_of(response->tensor()))});
    // The view points into the message, which lives as long as the reply.
    reply.owner = std::move(response);
    return reply;
  }

  Status remove_tensor(std::uint64_t exchange) override {
    v1::RemoveTensorRequest request;
    request.set_exchange(exchange);
    return call(&Stub::RemoveTensor, request).status();
  }

  Result<std::string> offer_tensor(std::uint64_t exchange) override {
    v1::OfferTensorRequest request;
    request.set_exchange(exchange);
    const auto response = SLUICE_TRY(call(&Stub::OfferTensor, request));
    return response.key();
  }

  Result<std::optional<terms::DeviceId>> bring_tensor(std::uint64_t exchange,
                                                      terms::DeviceId device) override {
    const v1::BringTensorRequest request = wire::bring_request(exchange, device);
    return wire::brought_from(SLUICE_TRY(call(&Stub::BringTensor, request)));
  }

  Result<terms::PulledTensor> pull_tensor(const terms::OfferedTensor& wanted, std::int64_t ttl_ns,
                                          std::int64_t timeout_ns) override {
    const v1::PullTensorRequest request = wire::pull_request(wanted, ttl_ns);
    return wire::pulled_tensor(SLUICE_TRY(call(&Stub::PullTensor, request, timeout_ns)));
  }

  Result<InferReply> infer(std::uint64_t model, const std::vector<terms::NamedTensor>& inputs,
                           const InferOptions& options) override {
    const auto entry = uses_ring() || !options.outputs.empty() ? model_entry(model) : nullptr;
    // The ring carries no indexes of the exchange.
    const bool uses_exchange = !options.kept_outputs.empty() ||
                               std::ranges::any_of(inputs, [](const terms::NamedTensor& input) {
                                 return input.exchange != 0;
                               });
    if (const auto ring = entry == nullptr || uses_exchange ? nullptr : find_ring()) {
      // Nothing if the request does not fit an entry of the ring; gRPC carries it then.
      auto reply = ring->infer(*entry, inputs, options, shared_);
      if (reply) return std::move(*reply);
    }
    v1::InferRequest request;
    const terms::Signature* signature = entry == nullptr ? nullptr : &entry->signature;
    // Tensors that lie in memory of share() become places; the bytes of all others go into the
    // message.
    SLUICE_TRY(write_infer(model, inputs, options, shared_, signature, request));
    auto response = std::make_shared<v1::InferResponse>();
    SLUICE_TRY(call(&Stub::Infer, request, *response, options.timeout_ns));
    return read_infer(std::move(response), options);
  }

  Result<std::uint64_t> post(std::uint64_t model, const std::vector<terms::NamedTensor>& inputs,
                             const InferOptions& options) override {
    // An older daemon would run the request and drop its outputs.
    if (!keeps_replies_) keeps_replies_ = SLUICE_TRY(server()).protocol_minor >= kPostedRequests;
    if (!keeps_replies_) return older_daemon("keeps no replies");
    v1::InferRequest request;
    SLUICE_TRY(write_infer(model, inputs, options, shared_, nullptr, request));
    request.set_is_posted(true);
    request.set_timeout_ns(options.timeout_ns);
    return SLUICE_TRY(call(&Stub::Infer, request)).request();
  }

  Result<InferReply> take_reply(std::uint64_t request, std::int64_t wait_ns) override {
    v1::TakeReplyRequest wanted;
    wanted.set_request(request);
    wanted.set_waits(wait_ns != 0);
    wanted.set_wait_ns(std::max<std::int64_t>(wait_ns, 0));
    auto response = std::make_shared<v1::InferResponse>();
    // The daemon ends the wait. A call that ended at the same time could lose the reply.
    const std::int64_t answer_ns = connection_.options().answer_timeout_ns;
    const bool is_limited = answer_ns > 0 && wait_ns >= 0 && wait_ns < kNoDeadline / 2 - answer_ns;
    SLUICE_TRY(call(&Stub::TakeReply, wanted, *response, is_limited ? wait_ns + answer_ns : 0));
    return read_infer(std::move(response), {});
  }

  Status cancel_request(std::uint64_t request) override {
    v1::CancelRequestRequest wanted;
    wanted.set_request(request);
    return call(&Stub::CancelRequest, wanted, connection_.options().answer_timeout_ns).status();
  }

  Result<std::shared_ptr<SharedTensors>> share(std::int64_t size_bytes) override {
    auto memory = SLUICE_TRY(shm::SharedMemory::create(size_bytes));
    // The descriptor travels over the side socket, as gRPC carries none.
    const std::string side_socket = SLUICE_TRY(find_side_socket());
    const auto handed = SLUICE_TRY(hand_over(side_socket, token_, wire::SideKind::kMemory,
                                             memory.fd(), static_cast<std::uint64_t>(size_bytes)));
    auto shared = std::make_shared<SharedTensors>(std::move(memory), handed.region);
    shared_.add(shared);
    return shared;
  }

  Result<std::shared_ptr<SharedTensors>> share(const std::string& name) override {
    v1::RegisterRegionRequest request;
    request.set_name(name);
    const auto response = SLUICE_TRY(call(&Stub::RegisterRegion, request));
    const std::uint64_t region = response.region().handle();
    auto memory = shm::SharedMemory::open(name);
    if (!memory.is_ok()) {
      (void)unregister_region(region);  // it goes with the session
      return memory.status();
    }
    auto shared = std::make_shared<SharedTensors>(std::move(*memory), region);
    shared_.add(shared);
    return shared;
  }

  Status unregister_region(std::uint64_t region) override {
    // Removed first: no request may name the region while the daemon drops it.
    shared_.remove(region);
    v1::UnregisterRegionRequest request;
    request.set_region(region);
    return call(&Stub::UnregisterRegion, request).status();
  }

  Result<std::vector<terms::RegionInfo>> list_regions() override {
    return all_of(SLUICE_TRY(ask(&Stub::ListRegions, v1::ListRegionsRequest())).regions());
  }

  Result<std::unique_ptr<InferStream>> open_stream() override {
    SLUICE_TRY(connection_.wait_for_daemon());
    return client::open_stream(
        connection_.stub(), shared_, [this](grpc::ClientContext& context) { prepare(context); },
        [this](const grpc::Status& status) { return connection_.answer_of(status); });
  }

  Result<std::unique_ptr<RingStream>> open_ring_stream(const RingStreamOptions& options) override {
    if (!connection_.has_session())
      return make_error(Code::kFailedPrecondition, "a ring is a session's");
    return client::open_ring_stream(
        SLUICE_TRY(find_side_socket()), token_, options,
        SLUICE_TRY(server()).protocol_minor >= kRingSpans,
        [this](std::uint64_t model) { return model_entry(model); },
        [this] { return why_ring_ended(); }, shared_);
  }

 private:
  void prepare(grpc::ClientContext& context) const {
    if (!token_.empty()) context.AddMetadata("sluice-session", token_);
    if (!connection_.options().token.empty())
      context.AddMetadata("authorization", "Bearer " + connection_.options().token);
  }

  Status why_ring_ended() const {
    // A call tells a daemon that has gone from one that closed the ring alone.
    const grpc::Status status = connection_.try_call();
    if (!status.ok()) return connection_.no_daemon(status);
    return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                  "the daemon has ended the ring: the session is over, or the daemon is ending");
  }

  template <typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  template <typename Request, typename Response>
  grpc::Status invoke(Method<Request, Response> method, const Request& request, Response& response,
                      std::int64_t timeout_ns) {
    grpc::ClientContext context;
    prepare(context);
    if (timeout_ns > 0) context.set_deadline(wire::after(timeout_ns));
    return (connection_.stub().*method)(&context, request, &response);
  }

  template <typename Request, typename Response>
  Status call(Method<Request, Response> method, const Request& request, Response& response,
              std::int64_t timeout_ns = 0) {
    SLUICE_TRY(connection_.wait_for_daemon());
    return connection_.answer_of(invoke(method, request, response, timeout_ns));
  }
  template <typename Request, typename Response>
  Result<Response> call(Method<Request, Response> method, const Request& request,
                        std::int64_t timeout_ns = 0) {
    Response response;
    SLUICE_TRY(call(method, request, response, timeout_ns));
    return response;
  }

  /// A call that changes nothing. It is made again if the connection ends under it: the daemon may
  /// have ended before the call, unnoticed, and the next one may start.
  template <typename Request, typename Response>
  Result<Response> ask(Method<Request, Response> method, const Request& request) {
    SLUICE_TRY(connection_.wait_for_daemon());
    const std::int64_t timeout_ns = connection_.options().answer_timeout_ns;
    Response response;
    const grpc::Status status = invoke(method, request, response, timeout_ns);
    // With a session a second call would be of no use: the session ended with the connection.
    const bool is_over = connection_.has_session() || !connection_.was_lost(status);
    if (!is_over) return call(method, request, timeout_ns);
    SLUICE_TRY(connection_.answer_of(status));
    return response;
  }

  static v1::LoadOptions at_path(const std::string& path, const std::string& file_version) {
    v1::LoadOptions source;
    source.set_path(path);
    source.set_file_version(file_version);
    return source;
  }
  static v1::LoadOptions upload_of(const Bytes& package) {
    v1::LoadOptions source;
    source.set_upload_bytes(package.size());
    return source;
  }

  Result<terms::Footprint> estimate(const terms::LoadOptions& options, v1::LoadOptions source,
                                    const Bytes& package) {
    source.set_only_estimate(true);
    v1::LoadModelResponse response;
    SLUICE_TRY(send_load(options, std::move(source), package, response));
    return wire::from_proto(response.footprint());
  }

  /// `source` says where the package is; `package` is what is uploaded, or empty.
  Status send_load(const terms::LoadOptions& options, v1::LoadOptions source, const Bytes& package,
                   v1::LoadModelResponse& response) {
    SLUICE_TRY(connection_.wait_for_daemon());
    // An older daemon would read past an option and serve otherwise.
    const bool has_newer = wire::newer_option(options).has_value();
    const std::uint32_t minor = has_newer ? SLUICE_TRY(server()).protocol_minor : 0;
    if (const auto option = wire::newer_option(options, minor); has_newer && option)
      return older_daemon(fmt::format("takes no {}", *option));
    v1::LoadModelRequest message;
    wire::to_proto(options, source);
    *message.mutable_options() = std::move(source);
    grpc::ClientContext context;
    prepare(context);
    const auto writer = connection_.stub().LoadModel(&context, &response);
    // False once the daemon has answered, for example to refuse: its answer comes from Finish.
    bool is_open = writer->Write(message);
    for (std::size_t at = 0; is_open && at < package.size(); at += kChunkBytes) {
      const Bytes chunk = package.slice(at, std::min(kChunkBytes, package.size() - at));
      message.set_chunk(chunk.data(), chunk.size());
      is_open = writer->Write(message);
    }
    writer->WritesDone();
    return connection_.answer_of(writer->Finish());
  }

  /// A daemon of an older release reads past what it does not know: such a function is removed.
  Result<terms::ModelEntry> loaded(const terms::LoadOptions& options,
                                   const v1::LoadModelResponse& response) {
    auto entry = SLUICE_TRY(wire::from_proto(response.model()));
    const bool joins = entry.function && entry.function->options.batch_rows > 0;
    if (!options.function || options.function->batch_rows == 0 || joins) return entry;
    SLUICE_TRY(unload(entry.info.handle, 0));
    return older_daemon("takes no batch_rows of a function");
  }

  Status older_daemon(std::string_view lack) const {
    return unimplemented("the daemon at {} {}: it is an older one; update it",
                         connection_.options().address, lack);
  }

  Result<std::string> find_side_socket() {
    if (!connection_.is_local()) {
      return make_error(Code::kFailedPrecondition,
                        "memory is shared over a Unix socket only: connect to unix:/PATH");
    }
    std::string side_socket = SLUICE_TRY(server()).side_socket;
    if (!side_socket.empty()) return side_socket;
    return unimplemented(
        "the daemon at {} shares no memory: it is an older one, or its socket's path is too long",
        connection_.options().address);
  }

  bool uses_ring() const {
    return connection_.options().uses_ring && connection_.has_session() && connection_.is_local();
  }

  /// Null if the daemon offers no ring. The client asks for one only once.
  std::shared_ptr<RingCaller> find_ring() {
    if (!uses_ring()) return nullptr;
    const std::lock_guard lock(ring_mutex_);
    if (ring_ != nullptr && !ring_->is_closed()) return ring_;
    ring_ = nullptr;
    // A ring that ended is not replaced: it ends with its session, or with the daemon.
    if (std::exchange(has_tried_ring_, true)) return nullptr;
    const auto side_socket = find_side_socket();
    const auto daemon = server();
    if (!side_socket.is_ok() || !daemon.is_ok()) return nullptr;
    auto ring = RingCaller::create(*side_socket, token_, daemon->protocol_minor >= kRingSpans);
    if (ring.is_ok()) ring_ = std::move(*ring);
    return ring_;
  }

  /// Asked for once: a handle is never another model's. Null if there is none.
  std::shared_ptr<const terms::ModelEntry> model_entry(std::uint64_t model) {
    if (model == 0) return nullptr;
    {
      const std::lock_guard lock(ring_mutex_);
      const auto it = models_.find(model);
      if (it != models_.end()) return it->second;
    }
    auto entries = list_models(model);
    if (!entries.is_ok() || entries->size() != 1) return nullptr;
    const auto entry = std::make_shared<const terms::ModelEntry>(std::move(entries->front()));
    // Two threads may have asked at once; both entries say the same.
    const std::lock_guard lock(ring_mutex_);
    if (models_.size() > kMaxKnownModels) models_.clear();
    models_[model] = entry;
    return entry;
  }

  Connection connection_;
  std::mutex session_mutex_;
  std::string token_;  ///< not written any more once the connection has a session
  SharedTable shared_;
  std::atomic<bool> keeps_replies_ = false;  ///< known of the daemon
  std::mutex ring_mutex_;
  bool has_tried_ring_ = false;
  std::shared_ptr<RingCaller> ring_;
  std::map<std::uint64_t, std::shared_ptr<const terms::ModelEntry>> models_;
  grpc::ClientContext lease_context_;
  std::unique_ptr<grpc::ClientReader<v1::OpenSessionResponse>> lease_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::create(const ClientOptions& options) {
  const wire::Address address = SLUICE_TRY(wire::parse_address(options.address));
  const auto credentials = SLUICE_TRY(credentials_of(options));
  grpc::ChannelArguments arguments;
  // The daemon sets the limit of messages; a client's own default of 4 MiB would refuse its
  // answers.
  arguments.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  arguments.SetMaxSendMessageSize(std::numeric_limits<int>::max());
  // One connection per client: the session's lease is on it.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto channel = grpc::CreateCustomChannel(address.to_string(), credentials, arguments);
  return std::unique_ptr<Client>(std::make_unique<GrpcClient>(options, std::move(channel)));
}

}  // namespace sluice::rpc::client
