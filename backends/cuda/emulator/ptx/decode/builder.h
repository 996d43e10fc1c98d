// A kernel's program while it grows: registers, memory, names in nested scopes, labels.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/ptx/code/program.h"
#include "emulator/ptx/code/types.h"

namespace sluice::cuda::ptx {

/// What a name stands for.
struct Symbol {
  enum class Kind : std::uint8_t { kRegister, kMemory, kVariable, kDynamicShared, kModuleShared };

  Kind kind = Kind::kRegister;
  Type type = Type::kNone;        ///< of kRegister
  Place place = 0;                ///< of kRegister; the first of a range
  std::uint32_t count = 0;        ///< of a range of registers: %r<count>; else 0
  Space space = Space::kGeneric;  ///< of kMemory
  /// Offset of a kMemory within its space; number of a kVariable or kModuleShared; alignment of a
  /// kDynamicShared.
  std::uint64_t offset_bytes = 0;
};

/// Shared memory that a module declares: part of each kernel that names it.
struct ModuleShared {
  std::size_t size_bytes = 0, alignment_bytes = 1;
};

using Names = std::unordered_map<std::string_view, Symbol>;

/// A function as a kernel's calls see it: where its parameters and results lie in local memory.
struct Callee {
  bool has_body = false;
  std::vector<Symbol> parameters, results;
  std::vector<std::size_t> parameter_bytes, result_bytes;
};

/// All functions throw Refusal. Names are views into the module's text.
class Builder {
 public:
  /// `module_names` and `module_shared` outlive the builder.
  Builder(const Names* module_names, const std::vector<ModuleShared>* module_shared);

  void open_scope();
  /// Branches to labels of an outer scope move to that scope.
  void close_scope();

  void declare(std::uint32_t line, std::string_view name, const Symbol& symbol);
  /// `%r<count>` for count > 0.
  void declare_registers(std::uint32_t line, std::string_view name, Type type, std::uint32_t count);
  /// Bytes of shared or of local memory.
  Symbol allocate(std::uint32_t line, Space space, std::size_t size, std::size_t alignment);
  void label(std::uint32_t line, std::string_view name);
  /// Instruction `at` goes to `name`; `in_list`: the number of a place in Program::list instead.
  void branch(std::uint32_t line, std::string_view name, std::size_t at, bool in_list = false);

  void declare_targets(std::string_view name, std::vector<std::string_view> labels);
  /// Labels of a .branchtargets; null if there is none.
  const std::vector<std::string_view>* find_targets(std::string_view name) const;

  /// The register or memory of a name; null if there is none. A register of a range has count 0.
  const Symbol* find(std::string_view name);

  Place new_place(Type type);
  Place number(std::uint64_t bits, bool is_wide);
  Place special(Initial what, bool is_wide);
  /// A register with the address of memory plus `offset`, within its space.
  Place address(const Symbol& symbol, std::int64_t offset, bool is_wide);
  /// Takes what nobody reads.
  Place sink(bool is_wide) const { return is_wide ? wide_sink_ : sink_; }

  /// The mask of carries, which arithmetic on wide numbers passes on.
  Place carry() const { return carry_; }

  Program& program() { return program_; }
  /// After the last body: gives dynamic shared memory its place behind the static one.
  void finish();

  /// Instruction `at` calls a function, whose code is compiled later.
  void call(std::string_view name, std::size_t at) { calls_.push_back({name, at}); }
  /// Null for unknown names. Set by who compiles the kernel.
  std::function<const Callee*(std::string_view)> find_callee;
  struct Call {
    std::string_view name;
    std::size_t at;
  };
  const std::vector<Call>& calls() const { return calls_; }
  bool uses_dynamic_shared() const { return !dynamic_.empty(); }
  /// Declared registers, in units of 32 bits.
  std::uint32_t register_count() const { return register_count_; }

  std::size_t parameter_bytes = 0;  ///< of the kernel
  /// Whether the code is that of a function, whose parameters lie in local memory.
  bool is_function = false;

 private:
  struct Branch {
    std::string_view name;
    std::size_t at;
    std::uint32_t line;
    bool in_list;
  };
  struct Scope {
    Names names;
    std::unordered_map<std::string_view, std::uint32_t> labels;
    std::vector<Branch> branches;
  };

  std::unordered_map<std::string_view, std::vector<std::string_view>> targets_;

  Place initial(InitialValue value, bool is_wide);

  const Names* module_names_;
  const std::vector<ModuleShared>* module_shared_;
  Program program_;
  std::vector<Scope> scopes_;
  std::vector<Call> calls_;
  std::map<std::pair<std::uint64_t, bool>, Place> numbers_;
  std::map<std::pair<Initial, bool>, Place> specials_;
  std::map<std::uint64_t, std::uint64_t> shared_offsets_;  ///< of module_shared_
  std::vector<std::size_t> dynamic_;  ///< initial values that await the end of static memory
  std::size_t dynamic_alignment_ = 16;
  Symbol found_;
  Place sink_ = 0, wide_sink_ = 0, carry_ = 0, predicate_place_ = 0;
  std::uint32_t predicates_left_ = 0, register_count_ = 0;
};

}  // namespace sluice::cuda::ptx
