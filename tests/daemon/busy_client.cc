// Loads a model in a session, says so, and infers until it is killed.
//   busy_client ADDRESS PACKAGE FD
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "rpc/client.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  sluice::rpc::ClientOptions options;
  options.address = argv[1];
  const auto client = sluice::rpc::Client::create(options);
  if (!client.is_ok() || !(*client)->open_session("busy").is_ok()) return 1;
  const auto model = (*client)->load({}, argv[2]);
  if (!model.is_ok()) {
    std::fprintf(stderr, "%s\n", model.status().to_string().c_str());
    return 1;
  }
  if (write(std::atoi(argv[3]), "x", 1) != 1) return 1;
  std::array<float, 4> x = {};
  const sluice::exec::TensorView view = {x.data(), 16, sluice::ir::ElementType::kF32, {4}};
  while ((*client)->infer(model->info.handle, {{"x", view}}).is_ok()) continue;
  return 0;
}
