#include "daemon/process_figures.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace sluice::testing {

ProcessFigures figures_of(pid_t process) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path("/proc") / std::to_string(process);
  ProcessFigures figures;
  std::error_code error;
  for (fs::directory_iterator it(folder / "fd", error), end; !error && it != end;
       it.increment(error)) {
    ++figures.num_fds;
  }
  std::ifstream maps(folder / "maps");
  for (std::string line; std::getline(maps, line);) ++figures.num_mappings;
  std::ifstream status(folder / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) figures.memory_kb = std::stoll(line.substr(6));
    if (line.starts_with("Threads:")) figures.num_threads = std::stoll(line.substr(8));
  }
  return figures;
}

}  // namespace sluice::testing
