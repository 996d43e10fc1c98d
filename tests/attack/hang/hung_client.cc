// A client with a session of its own whose request never ends, for others to kill.
//   hung_client ADDRESS PACKAGE stream|process
#include <cstdio>
#include <string_view>

#include "base/checked.h"
#include "rpc/client/client.h"

namespace sluice::testing {
namespace {

Status hang(const std::string& address, const std::string& package, bool is_process) {
  const auto client = SLUICE_TRY(rpc::client::Client::create({.address = address}));
  SLUICE_TRY(client->open_session("hung"));
  terms::LoadOptions options;
  options.name = "hung";
  options.isolation = is_process ? terms::Isolation::kProcess : terms::Isolation::kStream;
  const auto entry = SLUICE_TRY(client->upload(options, package));
  const terms::TensorSpec& input = entry.signature.inputs.at(0);
  if (input.type.shape() == nullptr) return invalid_argument("the model's input has no rank");
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : *input.type.shape()) dims.push_back(dim.is_known() ? dim.value() : 1);
  const auto size = ir::storage_bytes(input.type.element(), checked_product(dims).value_or(0));
  std::vector<std::byte> zeros(static_cast<std::size_t>(size.value_or(0)));
  const terms::TensorView view = {zeros.data(), size.value_or(0), input.type.element(), dims};
  return client->infer(entry.info.handle, {{input.name, view}}).status();
}

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const sluice::Status status =
      sluice::testing::hang(argv[1], argv[2], std::string_view(argv[3]) == "process");
  std::fprintf(stderr, "hung_client: %s\n", status.to_string().c_str());
  return 1;
}
