// What an inference over the Unix socket costs above a bare echo of the same bytes by the same
// library and kind of server: calls of the two in turn, one client, medians.
//   bench/echo [CALLS]
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "../runtime/networks.h"
#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/server.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kTensorBytes = 1024;

class Echo final : public v1::Runtime::CallbackService {
 public:
  grpc::ServerUnaryReactor* Infer(grpc::CallbackServerContext* context,
                                  const v1::InferRequest* request,
                                  v1::InferResponse* response) override {
    *response->add_outputs() = request->inputs(0);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

std::unique_ptr<v1::Runtime::Stub> client_of(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::Runtime::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

v1::InferRequest request_of(std::uint64_t model) {
  v1::InferRequest request;
  request.set_model(model);
  v1::Tensor& input = *request.add_inputs();
  input.set_name("x0");
  input.set_element_type(1);
  input.add_shape(1);
  input.add_shape(kTensorBytes / 4);
  input.set_data(std::string(kTensorBytes, '\0'));
  return request;
}

double microseconds_of(v1::Runtime::Stub& stub, const v1::InferRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  grpc::ClientContext context;
  v1::InferResponse response;
  const grpc::Status status = stub.Infer(&context, request, &response);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  if (!status.ok() || response.outputs(0).data().size() != kTensorBytes) {
    fmt::print(stderr, "{}\n", status.error_message());
    std::exit(1);
  }
  return took.count();
}

double quantile(std::vector<double> values, double fraction) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1))];
}

void run(int num_calls) {
  const std::string path = fmt::format("/tmp/sluice-bench-{}", getpid());
  Echo echo;
  grpc::ServerBuilder builder;
  builder.RegisterService(&echo);
  builder.AddListeningPort("unix:" + path + ".echo", grpc::InsecureServerCredentials());
  const auto echo_server = builder.BuildAndStart();

  const auto backends = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  const runtime::EngineOptions options = this_machine();
  runtime::Engine engine(backends, drivers, options);
  service::NoLog log;
  service::Service service(engine, options.devices, {}, log);
  rpc::ServerOptions listening;
  listening.addresses = {{true, path + ".sluice", "", 0}};
  const auto server = value_of(rpc::Server::start(service, listening));
  const auto caller = value_of(service.caller_of("", {}));
  const auto model = value_of(service.load(caller, {}, "", products(1, kTensorBytes / 4)));

  const auto to_echo = client_of("unix:" + path + ".echo");
  const auto to_sluice = client_of("unix:" + path + ".sluice");
  const v1::InferRequest request = request_of(model.info.handle);
  std::vector<double> echo_us;
  std::vector<double> sluice_us;
  for (int i = -200; i < num_calls; ++i) {  // the first ones do not count
    const double one = microseconds_of(*to_echo, request);
    const double other = microseconds_of(*to_sluice, request);
    if (i < 0) continue;
    echo_us.push_back(one);
    sluice_us.push_back(other);
  }
  const double echo_median = quantile(echo_us, 0.5);
  const double sluice_median = quantile(sluice_us, 0.5);
  fmt::print("echo    {:8.1f} us median, {:8.1f} us p99\n", echo_median, quantile(echo_us, 0.99));
  fmt::print("sluice  {:8.1f} us median, {:8.1f} us p99\n", sluice_median,
             quantile(sluice_us, 0.99));
  fmt::print("ratio   {:8.2f}\n", sluice_median / echo_median);
  server->shutdown(0);
  echo_server->Shutdown(std::chrono::system_clock::now());
  unlink((path + ".sluice.lock").c_str());
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  sluice::bench::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 5000);
  return 0;
}
