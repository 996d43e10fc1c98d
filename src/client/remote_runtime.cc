#include "client/remote_runtime.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/process/with_lock.h"
#include "client/requests.h"
#include "terms/runtime_code.h"

namespace sluice::client {
namespace {

using api::InferCall;
using api::unknown_model;
using SharedSignature = std::shared_ptr<const terms::Signature>;

// As in rpc/client/client.cc: signatures that are forgotten are asked for again.
constexpr std::size_t kMaxKnownModels = 1024;
/// The protocol's minor version since which a ring cancels requests.
constexpr std::uint32_t kRingCancels = 7;

Result<terms::LoadOptions> load_options(const api::LoadSettings& settings) {
  if (settings.options.is_on_demand) {
    return unimplemented(
        "a daemon decides itself which models it keeps loaded: load on demand is "
        "for a runtime in this process");
  }
  return settings.options;
}

/// The daemon may not see the file: another user, container or machine.
bool should_upload(const Status& status) {
  return status.code() == Code::kPermissionDenied || status.code() == Code::kNotFound;
}

api::InferReply refusal(const Status& status) {
  api::InferReply reply;
  reply.status = status;
  reply.code = terms::runtime_code_of(status);
  return reply;
}

/// Moves outputs to the caller's memory. Fails: kOutOfResources.
Status place_outputs(const std::vector<terms::NamedMemory>& wanted,
                     const terms::Signature& signature, api::InferReply& reply) {
  if (wanted.empty()) return ok_status();
  const auto places = SLUICE_TRY(terms::arrange_outputs(wanted, signature));
  for (std::size_t i = 0; i < std::min(places.size(), reply.outputs.size()); ++i) {
    if (places[i] < 0) continue;
    const terms::OutputMemory& memory = wanted[static_cast<std::size_t>(places[i])].memory;
    terms::TensorView& view = reply.outputs[i].view;
    // A tensor that stays in the exchange has no bytes here.
    if (memory.data == nullptr || reply.outputs[i].exchange != 0) continue;
    if (view.size_bytes > memory.capacity_bytes) {
      return terms::runtime_error(RuntimeCode::kOutOfResources,
                                  "output \"{}\" has {} bytes, its memory {}",
                                  reply.outputs[i].name, view.size_bytes, memory.capacity_bytes);
    }
    // Equal where the daemon wrote to shared memory itself (place_in_shared).
    if (view.size_bytes > 0 && view.data != memory.data) {
      std::memcpy(memory.data, view.data, static_cast<std::size_t>(view.size_bytes));
    }
    view.data = memory.data;
  }
  return ok_status();
}

api::InferReply reply_of(Result<rpc::client::InferReply> answer,
                         const std::vector<terms::NamedMemory>& outputs,
                         const terms::Signature& signature, bool has_detail) {
  if (!answer.is_ok()) return refusal(answer.status());
  api::InferReply reply;
  reply.code = answer->code;
  reply.outputs = std::move(answer->outputs);
  reply.detail = std::move(answer->detail);
  reply.has_detail = has_detail;
  reply.owner = std::move(answer->owner);
  const Status placed = place_outputs(outputs, signature, reply);
  return placed.is_ok() ? std::move(reply) : refusal(placed);
}

class RemoteFlight final : public api::Flight {
 public:
  RemoteFlight(std::shared_ptr<Requests> requests, std::uint64_t id)
      : requests_(std::move(requests)), id_(id) {}
  void cancel() override { requests_->cancel(id_); }
  void wait(const std::function<bool()>& is_done, api::TimeoutNs timeout_ns) override {
    requests_->wait(is_done, timeout_ns);
  }

 private:
  const std::shared_ptr<Requests> requests_;
  const std::uint64_t id_;
};

class RemoteRuntime final : public api::Runtime {
 public:
  RemoteRuntime(std::unique_ptr<rpc::client::Client> client, bool is_local, bool uses_ring,
                std::int64_t stream_limit)
      : client_(std::move(client)),
        is_local_(is_local),
        uses_ring_(uses_ring),
        stream_limit_(stream_limit) {}

  Result<std::vector<terms::Device>> devices() override {
    return SLUICE_TRY(client_->server()).devices;
  }

  Result<std::uint64_t> create_group(const api::GroupSettings& settings) override {
    const auto entry = SLUICE_TRY(wait_for_cores(settings.timeout_ns, [&] {
      return client_->create_group(settings.cores, settings.isolation);
    }));
    return static_cast<std::uint64_t>(entry.info.id.value());
  }
  Status destroy_group(std::uint64_t group) override { return client_->destroy_group(group); }
  Result<std::vector<terms::GroupInfo>> groups() override {
    std::vector<terms::GroupInfo> infos;
    for (terms::GroupEntry& entry : SLUICE_TRY(client_->list_groups())) {
      infos.push_back(std::move(entry.info));
    }
    return infos;
  }

  Result<std::uint64_t> load(const api::LoadSettings& settings) override {
    // A load on a group takes no cores: where the group is too small, waiting does not help.
    const api::TimeoutNs timeout_ns = settings.options.group ? 0 : settings.timeout_ns;
    terms::ModelEntry entry =
        SLUICE_TRY(wait_for_cores(timeout_ns, [&] { return load_entry(settings, timeout_ns); }));
    remember(entry.info.handle, std::move(entry.signature));
    return entry.info.handle;
  }
  Result<terms::Footprint> estimate(const api::LoadSettings& settings) override {
    const auto options = SLUICE_TRY(load_options(settings));
    if (settings.package.data() != nullptr) return client_->estimate(options, settings.package);
    if (settings.is_server_path)
      return client_->estimate(options, settings.path, /*is_upload=*/false);
    return client_->estimate(options, settings.path, /*is_upload=*/true);
  }
  Result<std::uint64_t> deploy_graph(const terms::GraphRequest& request) override {
    terms::ModelEntry entry = SLUICE_TRY(client_->deploy_graph(request));
    remember(entry.info.handle, std::move(entry.signature));
    return entry.info.handle;
  }

  Status start(std::uint64_t model) override { return client_->start(model); }
  Status stop(std::uint64_t model, std::int64_t drain_ns) override {
    return client_->stop(model, drain_ns);
  }
  Status reset(std::uint64_t model) override { return client_->reset(model); }
  Status unload(std::uint64_t model, std::int64_t drain_ns) override {
    return client_->unload(model, drain_ns);
  }

  Result<std::vector<api::ModelDescription>> models(std::uint64_t model) override {
    std::vector<api::ModelDescription> models;
    for (terms::ModelEntry& entry : SLUICE_TRY(client_->list_models(model))) {
      models.push_back({std::move(entry.info), std::move(entry.signature), false});
    }
    if (model != 0 && models.empty()) return unknown_model(model);
    return models;
  }

  Result<std::uint64_t> combine(const api::CombineSettings& /*settings*/) override {
    return unimplemented("a daemon's models are not combined: combine models of this process");
  }
  Result<std::shared_ptr<runtime::RequestSink>> sink(std::uint64_t /*model*/) override {
    return unimplemented("queues move memory of this process: open them on a local runtime");
  }

  Result<api::SharedMemory> share(std::int64_t size_bytes) override {
    auto tensors = SLUICE_TRY(client_->share(size_bytes));
    shared_.add(tensors);
    // The daemon drops its mapping with the region, or with the session if the client is gone.
    const std::shared_ptr<const void> owner(
        tensors.get(), [tensors, client = std::weak_ptr(client_)](const void*) {
          if (const auto open = client.lock()) (void)open->unregister_region(tensors->region());
        });
    return api::SharedMemory{tensors->memory(), owner};
  }

  Result<std::uint64_t> put_tensor(const terms::TensorView& view, std::int64_t ttl_ns) override {
    return client_->put_tensor(view, ttl_ns);
  }
  api::InferReply get_tensor(std::uint64_t exchange) override {
    return reply_of(client_->get_tensor(exchange), {}, {}, /*has_detail=*/false);
  }
  Status remove_tensor(std::uint64_t exchange) override { return client_->remove_tensor(exchange); }
  Result<std::optional<terms::DeviceId>> bring_tensor(std::uint64_t exchange,
                                                      terms::DeviceId device) override {
    return client_->bring_tensor(exchange, device);
  }
  Result<std::string> offer_tensor(std::uint64_t exchange) override {
    return client_->offer_tensor(exchange);
  }
  Result<std::uint64_t> fetch_tensor(const api::FetchSettings& settings) override {
    const auto pulled = SLUICE_TRY(client_->pull_tensor(
        {settings.from, settings.exchange, settings.key}, settings.ttl_ns, settings.timeout_ns));
    return static_cast<std::uint64_t>(pulled.index);
  }

  Result<terms::ModelStatistics> statistics(std::uint64_t model) override {
    auto all = SLUICE_TRY(client_->statistics(model));
    if (model == 0 || all.empty()) return unknown_model(model);
    return std::move(all.front());
  }
  Result<terms::Health> health(std::uint64_t model) override {
    for (terms::ModelHealth& one : SLUICE_TRY(client_->health()).models) {
      if (one.model == model) return std::move(one.health);
    }
    return unknown_model(model);
  }
  Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings) override {
    return client_->start_profile(settings);
  }
  Result<terms::Profile> stop_profile(std::uint64_t profile) override {
    return client_->stop_profile(profile);
  }

  api::InferReply infer(const InferCall& call) override {
    auto prepared = prepare(call);
    if (!prepared.is_ok()) return refusal(prepared.status());
    const Status placed = place_in_shared(call, *prepared);
    if (!placed.is_ok()) return refusal(placed);
    return reply_of(client_->infer(call.model, prepared->inputs, prepared->options), call.outputs,
                    *prepared->signature, call.wants_detail);
  }

  Result<std::shared_ptr<api::Flight>> submit(const InferCall& call,
                                              api::OnReply on_reply) override {
    auto prepared = SLUICE_TRY(prepare(call));
    const auto requests = SLUICE_TRY(open_requests());
    const auto id = requests->send(
        call.model, prepared.inputs, prepared.options,
        [signature = prepared.signature, outputs = call.outputs, has_detail = call.wants_detail,
         on_reply = std::move(on_reply)](Result<rpc::client::InferReply> answer) {
          on_reply(reply_of(std::move(answer), outputs, *signature, has_detail));
        });
    if (!id.is_ok()) return closing_or(id.status());
    return std::shared_ptr<api::Flight>(std::make_shared<RemoteFlight>(requests, *id));
  }

  const std::string& session_token() const override { return client_->session_token(); }
  Result<std::uint64_t> post(const InferCall& call) override {
    const auto prepared = SLUICE_TRY(prepare(call));
    return client_->post(call.model, prepared.inputs, prepared.options);
  }
  Result<api::InferReply> take_reply(std::uint64_t request, api::TimeoutNs timeout_ns) override {
    auto answer = await_reply(request, timeout_ns);
    const bool has_detail = answer.is_ok() && !answer->detail.backends.empty();
    return reply_of(std::move(answer), {}, {}, has_detail);
  }
  Status cancel_posted(std::uint64_t request) override { return client_->cancel_request(request); }

  void shutdown(std::int64_t drain_ns) override {
    // Closed without the lock: callbacks of requests may call this runtime.
    const auto all = with_lock(mutex_, [&] {
      is_open_ = false;
      return std::exchange(requests_, {});
    });
    closes_.notify_all();
    for (const auto& requests : all) requests->close(drain_ns);
  }

 private:
  struct Prepared {
    SharedSignature signature;
    std::vector<terms::NamedTensor> inputs;
    rpc::client::InferOptions options;
  };

  /// In slices: `shutdown` has no other way to end a wait.
  Result<rpc::client::InferReply> await_reply(std::uint64_t request, api::TimeoutNs timeout_ns) {
    constexpr std::int64_t kSliceNs = 1'000'000'000;
    const Clock& clock = system_clock();
    const std::int64_t deadline_ns = deadline_after(clock, timeout_ns);
    for (std::int64_t start_ns = clock.now_ns();;) {
      const std::int64_t slice_ns = std::clamp<std::int64_t>(deadline_ns - start_ns, 0, kSliceNs);
      auto answer = client_->take_reply(request, slice_ns);
      const std::int64_t now_ns = clock.now_ns();
      const bool is_pending = terms::runtime_code_of(answer.status()) == RuntimeCode::kPending;
      // The wait ended before its slice, but for drifting clocks: another call waits now. Two calls
      // that wait again and again would end each other without a pause.
      const bool was_ended = now_ns - start_ns < slice_ns - slice_ns / 100;
      if (!is_pending || was_ended || now_ns >= deadline_ns) return answer;
      if (!is_open()) {
        return terms::runtime_error(RuntimeCode::kCancelled,
                                    "the runtime was closed while the request ran");
      }
      start_ns = now_ns;
    }
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return is_open_;
  }

  /// Asks again while the cores are others': a daemon would have to keep a thread for each client
  /// that waits, and the calls that give cores back need these threads.
  template <typename Call>
  std::invoke_result_t<Call> wait_for_cores(api::TimeoutNs timeout_ns, const Call& call) {
    constexpr std::int64_t kFirstPauseNs = 5'000'000;
    constexpr std::int64_t kLongestPauseNs = 250'000'000;
    const std::int64_t deadline_ns = deadline_after(system_clock(), timeout_ns);
    for (std::int64_t pause_ns = kFirstPauseNs;;
         pause_ns = std::min(2 * pause_ns, kLongestPauseNs)) {
      auto result = call();
      const bool is_refused =
          terms::runtime_code_of(result.status()) == RuntimeCode::kNotEnoughCores;
      if (!is_refused || timeout_ns == 0) return result;
      const std::int64_t left_ns = deadline_ns - system_clock().now_ns();
      if (left_ns <= 0) {
        return terms::runtime_error(RuntimeCode::kTimeout, "no cores became free in time: {}",
                                    result.status().message());
      }
      std::unique_lock lock(mutex_);
      closes_.wait_for(lock, std::chrono::nanoseconds(std::min(pause_ns, left_ns)),
                       [this] { return !is_open_; });
      if (!is_open_) return closing();
    }
  }

  Result<terms::ModelEntry> load_entry(const api::LoadSettings& settings,
                                       api::TimeoutNs timeout_ns) {
    auto options = SLUICE_TRY(load_options(settings));
    if (settings.package.data() != nullptr) {
      return sent_once(client_->upload(options, settings.package), timeout_ns);
    }
    if (settings.is_server_path) return client_->load(options, settings.path);
    const auto path = std::filesystem::absolute(settings.path);
    // A daemon that sees the file maps it, and shares its pages with other users of it.
    if (is_local_) {
      auto loaded = client_->load(options, path.string(), file_version(path));
      if (loaded.is_ok() || !should_upload(loaded.status())) return loaded;
    }
    if (options.name.empty()) options.name = path.stem().string();
    return sent_once(client_->upload(options, path.string()), timeout_ns);
  }

  /// Asking again would send the whole package again, as often as the cores are not free.
  static Result<terms::ModelEntry> sent_once(Result<terms::ModelEntry> loaded,
                                             api::TimeoutNs timeout_ns) {
    const bool would_wait =
        timeout_ns != 0 && terms::runtime_code_of(loaded.status()) == RuntimeCode::kNotEnoughCores;
    if (!would_wait) return loaded;
    return unimplemented(
        "a package that is sent to the daemon does not wait for cores: create a group with the "
        "timeout, and load on that; now {}",
        loaded.status().message());
  }

  /// Asked for once: a handle is never another model's.
  Result<SharedSignature> signature_of(std::uint64_t model) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = signatures_.find(model);
      if (it != signatures_.end()) return it->second;
    }
    if (model == 0) {
      return terms::runtime_error(RuntimeCode::kInvalidHandle, "0 is the handle of no model");
    }
    auto found = SLUICE_TRY(models(model));
    return remember(model, std::move(found.front().signature));
  }

  SharedSignature remember(std::uint64_t model, terms::Signature signature) {
    auto shared = std::make_shared<const terms::Signature>(std::move(signature));
    const std::lock_guard lock(mutex_);
    if (signatures_.size() >= kMaxKnownModels) signatures_.clear();
    signatures_[model] = shared;
    return shared;
  }

  Result<Prepared> prepare(const InferCall& call) {
    Prepared prepared;
    prepared.signature = SLUICE_TRY(signature_of(call.model));
    const auto places = SLUICE_TRY(terms::arrange_inputs(call.inputs, *prepared.signature));
    for (std::size_t i = 0; i < places.size(); ++i) {
      // arrange_inputs has checked that an absent input has a default.
      if (places[i] < 0) continue;  // the daemon has the default
      const terms::NamedTensor& input = call.inputs[static_cast<std::size_t>(places[i])];
      prepared.inputs.push_back({prepared.signature->inputs[i].name, input.view, input.exchange});
    }
    prepared.options.timeout_ns = call.timeout_ns;
    prepared.options.priority = call.priority;
    prepared.options.wants_detail = call.wants_detail;
    prepared.options.kept_outputs = call.kept_outputs;
    prepared.options.ttl_ns = call.ttl_ns;
    prepared.options.traceparent = call.traceparent;
    prepared.options.tracestate = call.tracestate;
    return prepared;
  }

  /// Asks the daemon to write outputs to the caller's memory where that is shared with it.
  Status place_in_shared(const InferCall& call, Prepared& prepared) const {
    if (call.outputs.empty()) return ok_status();
    for (const int place : SLUICE_TRY(terms::arrange_outputs(call.outputs, *prepared.signature))) {
      terms::OutputMemory memory;
      if (place >= 0) memory = call.outputs[static_cast<std::size_t>(place)].memory;
      if (!shared_.find(memory.data, memory.capacity_bytes)) memory = {};
      prepared.options.outputs.push_back(memory);
    }
    return ok_status();
  }

  static Status closing() {
    return terms::runtime_error(RuntimeCode::kFailed, "the runtime is being closed");
  }
  /// A stream that ends because the runtime is being closed is no fault of the daemon.
  Status closing_or(const Status& status) { return is_open() ? status : closing(); }

  /// The way of requests; a new one if the daemon has ended the last.
  Result<std::shared_ptr<Requests>> open_requests() {
    const std::lock_guard lock(mutex_);
    if (!is_open_) return closing();
    if (!requests_.empty()) {
      if (!requests_.back()->is_over()) return requests_.back();
      SLUICE_TRY(client_->server().status());  // says whether the daemon is there
    }
    // The former ones stay in the list: their callbacks may still run, and shutdown waits for them.
    requests_.push_back(std::make_shared<Requests>(
        open_ring(), [client = client_] { return client->open_stream(); }, stream_limit_));
    return requests_.back();
  }

  /// Null where there is none: the stream carries all requests then.
  std::unique_ptr<rpc::client::RingStream> open_ring() {
    if (!uses_ring_) return nullptr;
    constexpr std::uint64_t kMaxEntries = 256;  // a ring with room to cancel each
    rpc::client::RingStreamOptions options;
    options.num_entries = static_cast<std::uint32_t>(std::bit_ceil(
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(stream_limit_), 1, kMaxEntries)));
    // Requests with outputs of unknown size go over the stream.
    options.takes_unknown_outputs = false;
    auto ring = client_->open_ring_stream(options);
    return ring.is_ok() ? std::move(*ring) : nullptr;
  }

  const std::shared_ptr<rpc::client::Client> client_;
  rpc::client::SharedTable shared_;
  const bool is_local_;
  const bool uses_ring_;
  const std::int64_t stream_limit_;
  std::mutex mutex_;
  std::condition_variable closes_;  ///< `is_open_` became false
  bool is_open_ = true;
  std::vector<std::shared_ptr<Requests>> requests_;  ///< the last one serves; others have ended
  std::map<std::uint64_t, SharedSignature> signatures_;
};

}  // namespace

Result<std::unique_ptr<api::Runtime>> connect(const api::ConnectSettings& settings) {
  rpc::client::ClientOptions options;
  if (!settings.address.empty()) options.address = settings.address;
  if (settings.timeout_ns > 0) options.connect_timeout_ns = settings.timeout_ns;
  options.ca = settings.ca;
  options.certificate = settings.certificate;
  options.key = settings.key;
  options.token = settings.token;
  options.session_token = settings.session_token;
  options.uses_ring = settings.uses_ring;
  const bool is_local = SLUICE_TRY(rpc::wire::parse_address(options.address)).is_unix;
  auto client = SLUICE_TRY(rpc::client::Client::create(options));
  const bool has_session = settings.has_session && settings.session_token.empty();
  if (has_session) {
    SLUICE_TRY(client->open_session(settings.session.empty() ? "libsluice" : settings.session));
  }
  const terms::ServerInfo server = SLUICE_TRY(client->server());
  // A ring belongs to a session, and its memory is handed over a Unix socket.
  const bool has_ring = is_local && has_session && settings.uses_ring &&
                        server.protocol_minor >= kRingCancels && !server.side_socket.empty();
  return std::unique_ptr<api::Runtime>(std::make_unique<RemoteRuntime>(
      std::move(client), is_local, has_ring, server.stream_requests));
}

}  // namespace sluice::client
