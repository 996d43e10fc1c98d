#include "echo.h"

#include <grpcpp/grpcpp.h>

#include <cstdlib>

#include "proto/sluice/v1/runtime.grpc.pb.h"

namespace sluice::bench {
namespace {

class Echo final : public v1::Runtime::CallbackService {
 public:
  grpc::ServerUnaryReactor* Infer(grpc::CallbackServerContext* context,
                                  const v1::InferRequest* request,
                                  v1::InferResponse* response) override {
    *response->mutable_outputs() = request->inputs();
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

[[noreturn]] void serve_echo(const std::string& path) {
  Echo echo;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(&echo);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) std::_Exit(1);
  server->Wait();
  std::_Exit(0);
}

}  // namespace

Process start_echo(const std::string& path) {
  return Process::start([&] { serve_echo(path); });
}

}  // namespace sluice::bench
