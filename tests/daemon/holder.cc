// A client for others to kill: takes a session, a group and a model of a daemon, says so on a line
// of its own, and then infers until it dies.
//   holder ADDRESS PACKAGE
#include <cstdio>

#include "daemon/add_relu.h"

namespace sluice::testing {
namespace {

Status hold(const std::string& address, const std::string& package) {
  const auto client = SLUICE_TRY(rpc::client::Client::create({.address = address}));
  SLUICE_TRY(client->open_session("holder"));
  SLUICE_TRY(client->create_group({.num_cores = 3}));
  const auto model = SLUICE_TRY(client->load({}, package));
  SLUICE_TRY(infer(*client, model.info.handle, 1));
  std::puts("holding");
  std::fflush(stdout);
  while (true) SLUICE_TRY(infer(*client, model.info.handle, 1));
}

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const sluice::Status status = sluice::testing::hold(argv[1], argv[2]);
  std::printf("holder: %s\n", status.to_string().c_str());
  return 1;
}
