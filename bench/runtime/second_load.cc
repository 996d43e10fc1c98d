// Resident memory that a second load of a package adds, in percent of the package. Target: under 5
// %.
#include <unistd.h>

#include <filesystem>

#include "networks.h"
#include "package/package.h"
#include "runtime/inference/thread_driver.h"

int main() {
  using namespace sluice;
  using namespace sluice::bench;
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("sluice_second_load_{}.sluice", ::getpid());
  check(package::write_package(*products(16, 1024), path));
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  const auto registry = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  runtime::Engine engine(registry, drivers, this_machine());
  runtime::LoadRequest request;
  request.path = path;
  Caller caller(1024);
  double before = static_cast<double>(resident_bytes());
  fmt::print("package {:.1f} MB\n", size / 1e6);
  for (const char* which : {"first", "second"}) {
    const auto model = value_of(engine.load(request));
    caller.infer(engine, model);
    const auto now = static_cast<double>(resident_bytes());
    fmt::print("{} load adds {:.2f} MB, {:.1f} % of the package\n", which, (now - before) / 1e6,
               100 * (now - before) / size);
    before = now;
  }
  std::filesystem::remove(path);
}
