// What the program registers before main: fat binaries, their kernels and variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "guest/runtime/abi.h"
#include "guest/runtime/errors.h"
#include "guest/wire/calls.h"

namespace sluice::guest {

struct Binary {
  std::span<const std::byte> code;  ///< in the program
  bool has_variables = false;
  std::uint64_t variable_bytes = 0;  ///< of all variables
  std::uint64_t library = 0;         ///< the proxy's; 0 before the first use
};

/// A kernel; programs hold its address as cudaKernel_t.
struct Function {
  Binary* binary = nullptr;
  std::string name;
  bool is_loaded = false;
  KernelFacts facts;
  std::vector<ParameterPlace> parameters;
  std::uint32_t parameter_bytes = 0;
  int max_dynamic_shared_bytes = 0;
};

struct DeviceVariable {
  Binary* binary = nullptr;
  std::string name;
  std::uint64_t address = 0;  ///< 0 before the first use
  std::uint64_t bytes = 0;
};

/// Safe across threads. Code goes to the proxy when a kernel or variable of it is first used.
class Registry {
 public:
  static Registry& get();

  Binary* add_binary(const FatbinWrapper& wrapper);
  void add_function(Binary* binary, const void* host, std::string name);
  /// `bytes`: 0 for a variable of another binary.
  void add_variable(Binary* binary, const void* host, std::string name, std::uint64_t bytes);

  /// By the address of the host's function, or a handle given out before. Null if there is none.
  Function* find_function(const void* host_or_handle);
  /// The same, with its facts from the proxy. Fails: kInvalidDeviceFunction; as the proxy says.
  Error load_function(const void* host_or_handle, Function** function);
  /// Fails: kInvalidSymbol; as the proxy says.
  Error load_variable(const void* host, DeviceVariable** variable);

 private:
  Error load(Binary& binary);
  Error load_facts(Function& function);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::map<const void*, std::unique_ptr<Function>> functions_;  ///< by the host's function
  std::set<const void*> handles_;
  std::map<const void*, DeviceVariable> variables_;  ///< by the host's variable
};

}  // namespace sluice::guest
