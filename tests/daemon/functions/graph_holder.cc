// A client for others to kill: deploys a graph of two functions, one of them in a cell, and keeps
// the outputs of its requests until it dies. Prints a line when the first answer has come.
//   graph_holder ADDRESS PACKAGE
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/client/client.h"

namespace sluice {
namespace {

using rpc::client::Client;

Result<terms::ModelHandle> deploy(Client& client, const std::string& package,
                                  terms::Isolation isolation) {
  terms::LoadOptions options;
  options.function = terms::FunctionOptions();
  options.isolation = isolation;
  return terms::ModelHandle{SLUICE_TRY(client.upload(options, package)).info.handle};
}

Status ask(Client& client, std::uint64_t graph, bool has_told) {
  std::vector<float> x(4, 2);
  const terms::TensorView view = {x.data(), 16, ir::ElementType::kF32, {4}};
  while (true) {
    const auto answer =
        SLUICE_TRY(client.infer(graph, {{"a.x", view}}, {.kept_outputs = {"a.y", "b.y"}}));
    if (!std::exchange(has_told, true)) {
      std::puts("asking");
      std::fflush(stdout);
    }
    for (const auto& output : answer.outputs) SLUICE_TRY(client.remove_tensor(output.exchange));
  }
}

Status hold(const std::string& address, const std::string& package) {
  const auto client = SLUICE_TRY(Client::create({.address = address}));
  SLUICE_TRY(client->open_session("graph_holder"));
  terms::GraphRequest request;
  request.name = "held";
  request.nodes = {{"a", SLUICE_TRY(deploy(*client, package, terms::Isolation::kStream))},
                   {"b", SLUICE_TRY(deploy(*client, package, terms::Isolation::kProcess))}};
  request.edges = {SLUICE_TRY(terms::GraphEdge::parse("a.y=b.x"))};
  request.outputs = {SLUICE_TRY(terms::GraphPort::parse("a.y"))};
  const std::uint64_t graph = SLUICE_TRY(client->deploy_graph(request)).info.handle;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      const Status status = ask(*client, graph, true);
      (void)status;  // the first one's is told
    });
  }
  const Status status = ask(*client, graph, false);
  for (std::thread& other : others) other.join();
  return status;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const sluice::Status status = sluice::hold(argv[1], argv[2]);
  std::printf("graph_holder: %s\n", status.to_string().c_str());
  return 1;
}
