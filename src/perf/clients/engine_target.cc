#include "perf/clients/engine_target.h"

#include <utility>

#include "runtime/engine.h"
#include "runtime/inference/thread_driver.h"
#include "topology/discovery/discovery.h"

namespace sluice::perf {
namespace {

class EngineTarget final : public Target {
 public:
  EngineTarget(backend::BackendRegistry backends, topology::DeviceMap devices,
               std::int64_t timeout_ns)
      : backends_(std::move(backends)),
        engine_(backends_, drivers_, runtime::EngineOptions{.devices = std::move(devices)}),
        timeout_ns_(timeout_ns) {}

  Status load(const std::filesystem::path& package) {
    runtime::LoadRequest request;
    request.path = package;
    const auto handle = SLUICE_TRY(engine_.load(request));
    sink_ = SLUICE_TRY(engine_.sink(handle));
    return ok_status();
  }

  const terms::Signature& signature() const override { return sink_->signature(); }
  bool is_in_process() const override { return true; }

  Status add_request(const std::vector<terms::NamedTensor>& inputs) override {
    std::vector<terms::TensorView> views;
    for (const int place : SLUICE_TRY(terms::arrange_inputs(inputs, signature()))) {
      const std::size_t input = views.size();
      views.push_back(place >= 0 ? inputs[static_cast<std::size_t>(place)].view
                                 : *terms::default_of(signature().inputs[input]));
    }
    requests_.push_back(std::move(views));
    return ok_status();
  }

  void send(std::size_t number, Done done) override {
    runtime::Request request;
    request.inputs = requests_[number];
    request.deadline_ns = deadline_after(engine_.clock(), timeout_ns_);
    request.on_done = [done](const runtime::Reply& reply) {
      done(reply.code == RuntimeCode::kOk ? ok_status() : reply.errors.to_status());
    };
    const auto id = sink_->submit(request);
    if (!id.is_ok()) done(id.status());
  }

 private:
  const backend::BackendRegistry backends_;
  runtime::ThreadDrivers drivers_;
  runtime::Engine engine_;
  const std::int64_t timeout_ns_;
  std::shared_ptr<runtime::RequestSink> sink_;
  std::vector<std::vector<terms::TensorView>> requests_;
};

}  // namespace

Result<std::unique_ptr<Target>> load_in_process(const std::filesystem::path& package,
                                                std::int64_t timeout_ns) {
  auto backends = backend::BackendRegistry::discover();
  auto devices = SLUICE_TRY(topology::discover_devices(backends));
  auto target = std::make_unique<EngineTarget>(std::move(backends), std::move(devices), timeout_ns);
  SLUICE_TRY(target->load(package));
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace sluice::perf
