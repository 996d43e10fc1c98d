#include "base/system/descriptors.h"

#include <dirent.h>
#include <sys/resource.h>

#include <memory>

namespace sluice {

DescriptorUse descriptor_use() {
  DescriptorUse use;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    use.max_open = static_cast<std::int64_t>(limit.rlim_cur);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return use;
  use.num_open = -3;  // "." and "..", and the descriptor of the folder itself
  while (readdir(folder.get()) != nullptr) ++use.num_open;
  return use;
}

}  // namespace sluice
