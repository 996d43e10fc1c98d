#include "base/process/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>  // NOLINT: strerror
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace sluice {
namespace {

Status system_error(std::string_view what) {
  return make_error(Code::kPermissionDenied, "confining a process: {}: {}", what, strerror(errno));
}

/// Drops the capabilities of this thread and of threads that it starts.
Status drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none = {};
  if (syscall(SYS_capset, &header, none.data()) == 0) return ok_status();
  return system_error("capset");
}

}  // namespace

Status drop_privileges(std::int64_t user, std::int64_t group) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return system_error("no_new_privs");
  }
  if (user >= 0) {
    const auto gid = static_cast<gid_t>(group);
    const auto uid = static_cast<uid_t>(user);
    if (setgroups(0, nullptr) != 0 || setresgid(gid, gid, gid) != 0 ||
        setresuid(uid, uid, uid) != 0) {
      return system_error("becoming another user");
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // which the change of user took away
  }
  return drop_capabilities();
}

}  // namespace sluice
