// `sluice-guest-proxy BACKEND MEMORY_BYTES MACHINE TRANSFER_POLICY BLOCKS_IN_FLIGHT`: started by
// `sluice guest`, which gives it the listening socket as file 3. It ends with the thread that
// started it. Once its device is lost it runs its program again, because nothing else makes the
// driver forget a fault.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/number.h"
#include "emulator/description_text.h"
#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "guest/proxy/serve.h"

namespace {

constexpr int kSocketFd = 3;
constexpr int kWords = 6;  // with the program's name

}  // namespace

namespace sluice::guest {
namespace {

struct OpenedDriver {
  cuda::DriverTable table;
  std::shared_ptr<void> owner;
};

cuda::Status open_emulator(const std::string& machine, OpenedDriver& opened) {
  cuda::emulator::Description description;
  cuda::Status status = cuda::emulator::parse_description(machine, &description);
  if (!status.is_ok()) return status;
  std::unique_ptr<cuda::emulator::EmulatedDriver> driver;
  status = cuda::emulator::EmulatedDriver::start(std::move(description), cuda::emulator::load_ptx,
                                                 &driver);
  if (!status.is_ok()) return status;
  opened.table = driver->table();
  opened.owner = std::shared_ptr<cuda::emulator::EmulatedDriver>(std::move(driver));
  return {};
}

int fail(std::string_view why) {
  std::fprintf(stderr, "sluice-guest-proxy: %.*s\n", static_cast<int>(why.size()), why.data());
  return 1;
}

/// Fails: kInvalidArgument for words that name none.
Result<device::TransferOptions> copy_options(std::string_view policy, std::string_view blocks) {
  device::TransferOptions options;
  const auto found = device::find_policy(policy);
  if (!found) return invalid_argument("there is no transfer policy {}", policy);
  options.policy = *found;
  const auto in_flight = to_number<decltype(options.blocks_in_flight)>(blocks);
  if (!in_flight) return invalid_argument("\"{}\" is no number of blocks", blocks);
  options.blocks_in_flight = *in_flight;
  SLUICE_TRY(check(options));
  return options;
}

int run_proxy(char** argv, std::uint64_t memory_bytes) {
  const std::string_view backend = argv[1];
  OpenedDriver opened;
  const cuda::Status status = backend == "cuda-emulated"
                                  ? open_emulator(argv[3], opened)
                                  : cuda::open_driver(cuda::kDriverLibrary, &opened.table);
  if (!status.is_ok()) return fail(status.text);
  SharedDeviceOptions options;
  const auto copies = copy_options(argv[4], argv[5]);
  if (!copies.is_ok()) return fail(copies.status().message());
  options.copies = *copies;
  const auto device = SharedDevice::create(opened.table, std::move(opened.owner), options);
  if (!device.is_ok()) return fail(device.status().message());
  GuestLimits limits;
  if (memory_bytes > 0) limits.memory_bytes = memory_bytes;
  const shm::Fd listening(kSocketFd);
  const Status served = accept_guests(**device, limits, listening);
  if (!served.is_ok()) return fail(served.message());
  // Guests that wait at the socket stay there. What else is open the new program closes.
  execv("/proc/self/exe", argv);
  return fail("the device is lost, and the program does not start again");
}

}  // namespace
}  // namespace sluice::guest

int main(int argc, char** argv) {
  // What a terminal sends is for the program that runs as a guest.
  for (const int number : {SIGINT, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto memory_bytes =
      sluice::to_number<std::uint64_t>(argc == kWords ? std::string_view(argv[2]) : "");
  if (!memory_bytes || fcntl(kSocketFd, F_GETFD) < 0 || close_range(kSocketFd + 1, ~0U, 0) != 0) {
    std::fprintf(stderr, "sluice-guest-proxy is started by sluice guest\n");
    return 2;
  }
  _exit(sluice::guest::run_proxy(argv, *memory_bytes));
}
