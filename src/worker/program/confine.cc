#include "worker/program/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

namespace sluice::worker {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

/// A call that may be made; with `argument`, only where (argument & mask) == value.
struct Rule {
  long number = 0;
  int argument = -1;
  std::uint32_t mask = 0;
  std::uint32_t value = 0;
};

constexpr std::uint32_t kWriting =
    O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
constexpr std::uint32_t kAll = 0xFFFFFFFF;

/// Those that are made most come first.
std::vector<Rule> rules(std::uint32_t own_process) {
  std::vector<Rule> all;
  for (const long number : {
         // Threads, time and memory.
         SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep,
             SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_rt_sigprocmask, SYS_rt_sigaction,
             SYS_rt_sigreturn, SYS_sigaltstack, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address,
             SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_getcpu, SYS_membarrier, SYS_gettid,
             SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
             SYS_clock_getres, SYS_gettimeofday, SYS_getrandom, SYS_getrusage, SYS_sysinfo,
             SYS_uname, SYS_restart_syscall, SYS_exit, SYS_exit_group,
             // Files that it has, the daemon's socket among them.
             SYS_recvmsg, SYS_sendmsg, SYS_ppoll, SYS_read, SYS_write, SYS_readv, SYS_writev,
             SYS_pread64, SYS_lseek, SYS_close, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs,
             SYS_readlinkat, SYS_getdents64, SYS_faccessat,
#if defined(__x86_64__)
             SYS_poll, SYS_stat, SYS_lstat, SYS_readlink, SYS_access, SYS_time,
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
             // Sanitizers write to a pipe to find out whether memory can be read. Without the pipe
             // they report live objects as invalid.
             SYS_pipe2,
#if defined(__x86_64__)
             SYS_pipe,
#endif
#endif
       }) {
    all.push_back({number});
  }
  all.push_back({SYS_mmap, 2, PROT_EXEC, 0});
  all.push_back({SYS_mprotect, 2, PROT_EXEC, 0});
  all.push_back({SYS_openat, 2, kWriting, O_RDONLY});
#if defined(__x86_64__)
  all.push_back({SYS_open, 1, kWriting, O_RDONLY});
#endif
  all.push_back({SYS_clone, 0, CLONE_THREAD, CLONE_THREAD});
  all.push_back({SYS_fcntl, 1, kAll, F_GETFL});
  all.push_back({SYS_fcntl, 1, kAll, F_GETFD});
  all.push_back({SYS_fcntl, 1, kAll, F_SETFD});
  all.push_back({SYS_fcntl, 1, kAll, F_GET_SEALS});
  all.push_back({SYS_prctl, 0, kAll, PR_SET_NAME});
  all.push_back({SYS_tgkill, 0, kAll, own_process});  // abort
  all.push_back({SYS_prlimit64, 2, kAll, 0});         // reading limits
  return all;
}

constexpr std::uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM;

class Program {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void mask(std::uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }
  /// Skips `count` instructions unless what was loaded is `value`.
  void skip_unless(std::uint32_t value, std::uint8_t count) {
    code_.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, count, value});
  }
  void skip_if(std::uint32_t value, std::uint8_t count) {
    code_.push_back({BPF_JMP | BPF_JEQ | BPF_K, count, 0, value});
  }
  void answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  std::vector<sock_filter>& code() { return code_; }

 private:
  void add(int operation, std::size_t operand) {
    code_.push_back(
        {static_cast<std::uint16_t>(operation), 0, 0, static_cast<std::uint32_t>(operand)});
  }
  std::vector<sock_filter> code_;
};

constexpr std::size_t kNumberOffset = offsetof(seccomp_data, nr);

/// The lower half of an argument: both architectures are little-endian.
std::size_t offset_of(int argument) {
  return offsetof(seccomp_data, args) + sizeof(std::uint64_t) * static_cast<std::size_t>(argument);
}

Program assemble(const std::vector<Rule>& allowed) {
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.skip_if(kArchitecture, 1);
  program.answer(SECCOMP_RET_KILL_PROCESS);
  // A filter cannot inspect clone3's arguments, so clone3 reports ENOSYS and glibc falls back to
  // clone.
  program.load(kNumberOffset);
  program.skip_unless(SYS_clone3, 1);
  program.answer(SECCOMP_RET_ERRNO | ENOSYS);
  for (const Rule& rule : allowed) {
    if (rule.argument < 0) {
      program.skip_unless(static_cast<std::uint32_t>(rule.number), 1);
      program.answer(SECCOMP_RET_ALLOW);
      continue;
    }
    program.skip_unless(static_cast<std::uint32_t>(rule.number), 5);
    program.load(offset_of(rule.argument));
    program.mask(rule.mask);
    program.skip_unless(rule.value, 1);
    program.answer(SECCOMP_RET_ALLOW);
    program.load(kNumberOffset);
  }
  program.answer(kDenied);
  return program;
}

}  // namespace

Status filter_system_calls() {
  if (kArchitecture == 0) {
    return make_error(Code::kUnimplemented, "confining a worker: not on this architecture");
  }
  Program program = assemble(rules(static_cast<std::uint32_t>(getpid())));
  const sock_fprog filter = {static_cast<unsigned short>(program.code().size()),
                             program.code().data()};
  const long result =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
  if (result == 0) return ok_status();
  if (result > 0) errno = EBUSY;  // a thread that has a filter of its own
  return make_error(Code::kUnimplemented, "confining a worker: seccomp: {}", std::strerror(errno));
}

}  // namespace sluice::worker
