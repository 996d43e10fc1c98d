// A client that shares memory with the daemon and asks without end, until it is killed:
//     daemon_sharer ADDRESS MODEL
// Prints a line when the first answer has come.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "rpc/client/client.h"

namespace {

int fail(const sluice::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using sluice::rpc::client::Client;
  if (argc != 3) return 2;
  sluice::rpc::client::ClientOptions options;
  options.address = argv[1];
  const std::uint64_t model = std::strtoull(argv[2], nullptr, 10);
  auto client = Client::create(options);
  if (!client.is_ok()) return fail(client.status());
  const auto session = (*client)->open_session("sharer");
  if (!session.is_ok()) return fail(session.status());
  const auto shared = (*client)->share(1 << 20);
  if (!shared.is_ok()) return fail(shared.status());
  void* x = (*shared)->memory().data();
  bool has_told = false;
  while (true) {
    const auto reply =
        (*client)->infer(model, {{"x", {x, 16, sluice::ir::ElementType::kF32, {4}}}});
    if (!reply.is_ok()) return fail(reply.status());
    if (!has_told) std::printf("asking\n");
    if (!std::exchange(has_told, true)) std::fflush(stdout);
  }
}
