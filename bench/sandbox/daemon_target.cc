#include <utility>

#include "rpc/client/client.h"
#include "target.h"

namespace sluice::bench {
namespace {

/// Far more than a load has in flight: a full line would hide latencies as failures.
constexpr int kMaxWaiting = 16'384;
/// Requests of a function in one turn: bursts are of one function.
constexpr int kConcurrency = 8;

/// Zeros for every input. Keeps their memory.
class Inputs {
 public:
  explicit Inputs(const terms::Signature& signature) {
    for (const terms::TensorSpec& spec : signature.inputs) {
      terms::TensorView view;
      view.element = spec.type.element();
      view.dims = dims_of(spec);
      view.size_bytes = bytes_of(spec);
      bytes_.emplace_back(static_cast<std::size_t>(view.size_bytes));
      view.data = bytes_.back().data();
      tensors_.push_back({spec.name, std::move(view)});
    }
  }
  const std::vector<terms::NamedTensor>& tensors() const { return tensors_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<terms::NamedTensor> tensors_;
};

Result<std::unique_ptr<rpc::client::Client>> connect(const std::string& address) {
  rpc::client::ClientOptions options;
  options.address = address;
  return rpc::client::Client::create(options);
}

/// A session of the daemon with a function, or a model, for each of a load's; requests on one
/// stream, or through one ring.
class DaemonTarget final : public Target {
 public:
  static Result<std::unique_ptr<Target>> create(const std::string& address,
                                                const std::vector<LoadFunction>& functions,
                                                DaemonOptions options) {
    auto target = std::make_unique<DaemonTarget>();
    target->uses_ring_ = options.uses_ring;
    target->client_ = SLUICE_TRY(connect(address));
    (void)SLUICE_TRY(target->client_->open_session("load"));
    for (const LoadFunction& function : functions) {
      SLUICE_TRY(target->deploy(function, options).with_context(function.name));
    }
    return std::unique_ptr<Target>(std::move(target));
  }

  Status open() override {
    if (uses_ring_) {
      stream_ = SLUICE_TRY(client_->open_ring_stream());
    } else {
      stream_ = SLUICE_TRY(client_->open_stream());
    }
    return ok_status();
  }
  Status send(std::size_t request, std::size_t function) override {
    const Deployed& to = deployed_[function];
    return stream_->send(request, to.handle, to.inputs->tensors());
  }
  void close() override { stream_->close(); }
  Result<std::optional<TargetAnswer>> next() override {
    auto answer = SLUICE_TRY(stream_->next());
    if (!answer) return std::optional<TargetAnswer>();
    return std::optional(TargetAnswer{static_cast<std::size_t>(answer->id), answer->reply.is_ok()});
  }

 private:
  struct Deployed {
    std::uint64_t handle = 0;
    std::unique_ptr<Inputs> inputs;
  };

  /// Packages of one kind share their mapping: it is loaded by path.
  Status deploy(const LoadFunction& function, const DaemonOptions& wanted) {
    terms::LoadOptions options;
    options.name = function.name;
    options.queue_limit = kMaxWaiting;
    options.depth = kConcurrency;
    if (wanted.are_functions) {
      options.function = terms::FunctionOptions();
      options.function->batch_rows = wanted.batch_rows;
    }
    const auto entry = SLUICE_TRY(client_->load(options, function.package));
    deployed_.push_back({entry.info.handle, std::make_unique<Inputs>(function.signature)});
    return ok_status();
  }

  bool uses_ring_ = true;
  std::unique_ptr<rpc::client::Client> client_;
  std::unique_ptr<rpc::client::InferStream> stream_;
  std::vector<Deployed> deployed_;
};

}  // namespace

Result<std::unique_ptr<Target>> daemon_target(const std::string& address,
                                              const std::vector<LoadFunction>& functions,
                                              const DaemonOptions& options) {
  return DaemonTarget::create(address, functions, options);
}

Result<std::function<Status()>> prepare_daemon_start(const std::string& address,
                                                     const LoadFunction& function, bool is_cold) {
  const std::shared_ptr<rpc::client::Client> control = SLUICE_TRY(connect(address));
  std::uint64_t handle = 0;
  for (const terms::ModelEntry& entry : SLUICE_TRY(control->list_models())) {
    if (entry.info.name == function.name) handle = entry.info.handle;
  }
  if (handle == 0) {
    terms::LoadOptions options;
    options.name = function.name;
    options.function = terms::FunctionOptions();
    handle = SLUICE_TRY(control->load(options, function.package)).info.handle;
  }
  SLUICE_TRY(is_cold ? control->stop(handle) : control->start(handle));
  const auto inputs = std::make_shared<Inputs>(function.signature);
  // Ends with the returned function: the end of a connection is no part of a start. `control` lives
  // as long: a caller that has used gRPC before does not start its threads again.
  const auto client = std::make_shared<std::unique_ptr<rpc::client::Client>>();
  return std::function<Status()>([address, handle, inputs, control, client]() -> Status {
    *client = SLUICE_TRY(connect(address));
    return (*client)->infer(handle, inputs->tensors()).status();
  });
}

}  // namespace sluice::bench
