// A client with a tensor that other daemons may fetch, until it is killed:
//     attack_offerer ADDRESS BYTES
// Prints the tensor's index and key.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "rpc/client/client.h"

namespace {

sluice::Status offer(const std::string& address, std::int64_t size_bytes) {
  const auto client = SLUICE_TRY(sluice::rpc::client::Client::create({.address = address}));
  SLUICE_TRY(client->open_session("offerer"));
  std::uint64_t index = 0;
  {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size_bytes), 7);
    index = SLUICE_TRY(
        client->put_tensor({bytes.data(), size_bytes, sluice::ir::ElementType::kU8, {size_bytes}}));
  }
  const std::string key = SLUICE_TRY(client->offer_tensor(index));
  std::printf("%llu %s\n", static_cast<unsigned long long>(index), key.c_str());
  std::fflush(stdout);
  while (true) pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const sluice::Status status = offer(argv[1], std::atoll(argv[2]));
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}
