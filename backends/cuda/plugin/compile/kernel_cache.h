// Compiled kernels that outlive the process, by content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/cache_folder.hpp"

namespace sluice::cuda {

/// Files `KEY.kernel` in the folder of what was compiled before. A file repeats the inputs of its
/// code: equal keys of different texts do no harm. One thread at a time.
class KernelCache {
 public:
  /// $SLUICE_CUDA_CACHE_DIR names a folder for kernels alone, or switches them off. Keeps nothing
  /// where the folder is switched off.
  KernelCache() : folder_(CacheFolder::open(nullptr, "SLUICE_CUDA_CACHE_DIR")) {}

  /// The code that `keep` got for the same inputs. Nullopt if there is none. A damaged file is
  /// removed.
  std::optional<std::string> find(std::string_view inputs) const;

  /// Keeps code in a file that appears whole. Now and then trims the folder. A folder that cannot
  /// be written keeps nothing.
  void keep(std::string_view inputs, std::string_view code);

 private:
  std::optional<CacheFolder> folder_;
  std::uint32_t num_kept_ = 0;
};

/// What a file holds: a line of the format's name, the inputs, eight bytes of a checksum of the
/// code (FNV-1a, the lowest byte first), and the code.
std::string wrap_kernel(std::string_view inputs, std::string_view code);

/// The code of a file. Nullopt if the file is damaged, or was made from other inputs.
std::optional<std::string_view> unwrap_kernel(std::string_view file, std::string_view inputs);

}  // namespace sluice::cuda
