#include "rpc/testing/function_trace.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/file.h"

namespace sluice::rpc::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
std::string why_no_trace() { return "a sanitizer's own code is traced, too, which takes minutes"; }
#elif !defined(__x86_64__)
std::string why_no_trace() { return "stepping reads the registers of x86-64"; }
#else
std::string why_no_trace() { return ""; }
#endif

#if defined(__x86_64__)
namespace {

constexpr long kBreakpoint = 0xCC;  // INT3
/// A trace of more instructions than this would take minutes.
constexpr std::int64_t kMaxSteps = 5'000'000;

struct Function {
  std::uint64_t end = 0;
  std::string name;
};
using Functions = std::map<std::uint64_t, Function>;  // by address

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return text == nullptr ? name : text.get();
}

/// Where this program lies in memory; a child's lies there, too.
std::uint64_t load_address() {
  std::uint64_t address = 0;
  const auto take_first = [](dl_phdr_info* info, std::size_t /*size*/, void* to) {
    *static_cast<std::uint64_t*>(to) = info->dlpi_addr;
    return 1;
  };
  dl_iterate_phdr(take_first, &address);
  return address;
}

/// Those of this program whose name begins with "sluice::".
Result<Functions> functions_of_program() {
  const auto file = SLUICE_TRY(map_file("/proc/self/exe"));
  const auto* bytes = reinterpret_cast<const char*>(file.view().data());
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes + header->e_shoff);
  const std::uint64_t base = load_address();
  Functions functions;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = bytes + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(bytes + sections[i].sh_offset);
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
      if (ELF64_ST_TYPE(symbols[s].st_info) != STT_FUNC || symbols[s].st_size == 0) continue;
      std::string name = demangled(names + symbols[s].st_name);
      if (!name.starts_with("sluice::")) continue;
      const std::uint64_t start = base + symbols[s].st_value;
      functions[start] = {start + symbols[s].st_size, std::move(name)};
    }
  }
  if (functions.empty()) return make_error(Code::kInternal, "the program has no symbols");
  return functions;
}

Status failed(const char* what) {
  return make_error(Code::kUnavailable, "{}: {}", what, std::strerror(errno));
}

/// A child, stopped before `work`, and the rules of ptrace: every thread is traced, a thread that
/// hits the breakpoint stops alone.
class Tracer {
 public:
  explicit Tracer(pid_t child) : child_(child) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() {
    kill(child_, SIGKILL);
    // Reaps every thread: the kernel reports the child's end only after that of traced threads.
    while (waitpid(-1, nullptr, __WALL) > 0) {
    }
  }

  Status attach_all() {
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(child_) + "/task")) {
      const pid_t thread = std::stoi(entry.path().filename().string());
      if (ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACECLONE) != 0) return failed("tracing");
    }
    return ok_status();
  }

  Status set_breakpoint(std::uint64_t address) {
    if (ptrace(PTRACE_INTERRUPT, child_, 0, 0) != 0) return failed("stopping the child");
    if (waitpid(child_, nullptr, __WALL) != child_) return failed("waiting for the child");
    errno = 0;
    original_ = ptrace(PTRACE_PEEKTEXT, child_, address, 0);
    if (errno != 0) return failed("reading the child's code");
    const long changed = (original_ & ~0xFFL) | kBreakpoint;
    if (ptrace(PTRACE_POKETEXT, child_, address, changed) != 0) return failed("a breakpoint");
    ptrace(PTRACE_CONT, child_, 0, 0);
    return ok_status();
  }

  /// The thread that hits it; the breakpoint is gone then.
  Result<pid_t> wait_for_breakpoint(std::uint64_t address) {
    while (true) {
      int status = 0;
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0) return failed("waiting for the breakpoint");
      if (!WIFSTOPPED(status)) {
        if (thread == child_) return make_error(Code::kInternal, "the child ended too early");
        continue;  // another thread's end
      }
      const int signal = WSTOPSIG(status);
      user_regs_struct registers = {};
      ptrace(PTRACE_GETREGS, thread, 0, &registers);
      if (signal == SIGTRAP && (status >> 16) == 0 && registers.rip == address + 1) {
        registers.rip = address;
        ptrace(PTRACE_POKETEXT, thread, address, original_);
        ptrace(PTRACE_SETREGS, thread, 0, &registers);
        return thread;
      }
      go_on(thread, signal);
    }
  }

  /// The instruction pointers until the function at whose entry `thread` stands returns.
  Status step(pid_t thread, const std::function<void(std::uint64_t)>& on_step) {
    user_regs_struct registers = {};
    ptrace(PTRACE_GETREGS, thread, 0, &registers);
    const std::uint64_t entry_stack = registers.rsp;
    int signal = 0;
    for (std::int64_t i = 0; i < kMaxSteps; ++i) {
      on_step(registers.rip);
      if (ptrace(PTRACE_SINGLESTEP, thread, 0, signal) != 0) return failed("a step");
      signal = SLUICE_TRY(wait_for_step(thread));
      ptrace(PTRACE_GETREGS, thread, 0, &registers);
      if (registers.rsp > entry_stack) return ok_status();  // the return address was popped
    }
    return make_error(Code::kInternal, "the call takes more than {} instructions", kMaxSteps);
  }

 private:
  static void go_on(pid_t thread, int signal) {
    ptrace(PTRACE_CONT, thread, 0, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
  }

  /// The signal that stopped `thread`, 0 for the step. Other threads that stop go on: the traced
  /// one may need a lock of theirs.
  Result<int> wait_for_step(pid_t thread) {
    while (true) {
      int status = 0;
      const pid_t stopped = waitpid(-1, &status, __WALL);
      if (stopped < 0) return failed("a step");
      if (!WIFSTOPPED(status)) {
        if (stopped == thread) return make_error(Code::kInternal, "the traced thread ended");
        continue;
      }
      const int signal = WSTOPSIG(status);
      if (stopped == thread) return signal == SIGTRAP ? 0 : signal;
      go_on(stopped, signal);
    }
  }

  const pid_t child_;
  long original_ = 0;
};

/// Both ends of two pipes between parent and child.
struct Pipes {
  int is_ready[2] = {-1, -1};
  int may_work[2] = {-1, -1};
};

[[noreturn]] void run_child(const Pipes& pipes, const std::function<bool()>& prepare,
                            const std::function<bool()>& work) {
  char byte = prepare() ? 'y' : 'n';
  bool is_ok = write(pipes.is_ready[1], &byte, 1) == 1;
  is_ok = read(pipes.may_work[0], &byte, 1) == 1 && is_ok && work();
  _exit(is_ok ? 0 : 1);
}

Result<std::uint64_t> address_of(const Functions& functions, const std::string& function) {
  const auto it = std::ranges::find_if(functions, [&](const auto& entry) {
    const std::string& name = entry.second.name;
    return name.starts_with(function) && !name.ends_with(']');  // not "[clone .cold]"
  });
  if (it != functions.end()) return it->first;
  return make_error(Code::kInternal, "no function {}", function);
}

}  // namespace

Result<std::vector<TraceStep>> trace_call(const std::string& function,
                                          const std::function<bool()>& prepare,
                                          const std::function<bool()>& work) {
  const Functions functions = SLUICE_TRY(functions_of_program());
  const std::uint64_t address = SLUICE_TRY(address_of(functions, function));
  Pipes pipes;
  if (pipe(pipes.is_ready) != 0 || pipe(pipes.may_work) != 0) return failed("pipe");
  const pid_t child = fork();
  if (child < 0) return failed("fork");
  if (child == 0) run_child(pipes, prepare, work);
  Tracer tracer(child);
  char byte = 0;
  if (read(pipes.is_ready[0], &byte, 1) != 1 || byte != 'y') {
    return make_error(Code::kInternal, "the child is not prepared");
  }
  SLUICE_TRY(tracer.attach_all());
  SLUICE_TRY(tracer.set_breakpoint(address));
  if (write(pipes.may_work[1], &byte, 1) != 1) return failed("write");
  const pid_t thread = SLUICE_TRY(tracer.wait_for_breakpoint(address));
  std::vector<TraceStep> steps;
  const Function* last = nullptr;
  SLUICE_TRY(tracer.step(thread, [&](std::uint64_t at) {
    auto it = functions.upper_bound(at);
    if (it == functions.begin()) return;
    const Function& here = (--it)->second;
    if (at >= here.end || &here == last) return;
    last = &here;
    steps.push_back({here.name, at == it->first});
  }));
  return steps;
}
#else
Result<std::vector<TraceStep>> trace_call(const std::string& /*function*/,
                                          const std::function<bool()>& /*prepare*/,
                                          const std::function<bool()>& /*work*/) {
  return make_error(Code::kUnavailable, "{}", why_no_trace());
}
#endif

}  // namespace sluice::rpc::testing
