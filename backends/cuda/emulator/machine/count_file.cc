#include "emulator/machine/count_file.h"

#include <array>
#include <utility>

namespace sluice::cuda::emulator {
namespace {

std::string list(const ptx::Dim3& size) {
  return "[" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " +
         std::to_string(size.z) + "]";
}

}  // namespace

Status CountFile::open(const std::string& name) {
  if (name.empty()) return plugin::ok();
  file_.open(name, std::ios::app);
  if (file_) return plugin::ok();
  return plugin::invalid_argument("machine: count=" + name + ": the file cannot be written");
}

void CountFile::add(const Which& which, const ptx::Launch& launch, const ptx::Counts& counts) {
  if (!file_.is_open()) return;
  const std::array<std::pair<const char*, std::uint64_t>, 12> fields = {{
      {"warp_instructions", counts.warp_instructions},
      {"global_load_bytes", counts.global_load_bytes},
      {"global_load_sectors", counts.global_load_sectors},
      {"global_store_bytes", counts.global_store_bytes},
      {"global_store_sectors", counts.global_store_sectors},
      {"global_accesses", counts.global_accesses},
      {"scattered_accesses", counts.scattered_accesses},
      {"shared_accesses", counts.shared_accesses},
      {"shared_bank_conflicts", counts.shared_bank_conflicts},
      {"matrix_products", counts.matrix_products},
      {"matrix_multiplications", counts.matrix_multiplications},
      {"lane_multiplications", counts.lane_multiplications},
  }};
  // Names of kernels are identifiers of PTX: nothing to escape.
  std::string line = "{\"image\": \"" + std::string(which.image) + "\", \"kernel\": \"" +
                     std::string(which.kernel) + "\", \"grid\": " + list(launch.grid) +
                     ", \"block\": " + list(launch.block);
  for (const auto& [name, value] : fields) {
    line += ", \"" + std::string(name) + "\": " + std::to_string(value);
  }
  const std::lock_guard lock(mutex_);
  file_ << line << "}\n" << std::flush;
}

}  // namespace sluice::cuda::emulator
