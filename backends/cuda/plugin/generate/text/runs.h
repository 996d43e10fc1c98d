// Kernels whose threads have runs of neighbours: kRun elements in row-major order that a load or
// two of 16 bytes bring. Tensors start at addresses aligned to SLUICE_ALIGNMENT bytes
// (sluice/backend.h), so a run that starts at a multiple of its length is aligned.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "plugin/generate/text/text.h"

namespace sluice::cuda {

/// `Run<T, kCount>`, kCount neighbours that one instruction or a few load or store, and
/// `load_run<kCount>(from)`.
extern const char* const kRunsText;

/// kRunsText; `kRun`, neighbours of a run; `Result`, the type of output 0.
std::string run_functions(const sluice_op& op, int run);

/// Loads the run `own` from the address `from`.
inline constexpr const char* kLoadOwn = "  const auto own = load_run<kRun>(from);\n";

/// How an operand stands to the neighbours of a run.
enum class Along {
  kSame,   ///< one element for all of them
  kRun,    ///< neighbours as well
  kMixed,  ///< any
};

/// How an operand stands to `run` neighbours in a tensor of `dims`, from a multiple of `run` on.
/// Requires: `operand` broadcasts to `dims`.
Along along_run(Dims operand, Dims dims, int run);

/// The most neighbours, a power of two up to `most`, that divide `unbroken`.
int longest_run(std::int64_t unbroken, int most);

/// Elements of `element_bytes` in 16 bytes, at most 8.
int widest_run(std::int64_t element_bytes);

/// Neighbours of output 0 that a thread should compute where the runs of a length that divides
/// `unbroken` have their own input side by side: enough that loads are wide, not so many that
/// multiprocessors are left without work.
int choose_run(const sluice_op& op, std::int64_t unbroken);

/// How operands are read at the neighbours from `i` on: by loads ahead of the loop over the run,
/// and by an expression at neighbour `j`. A run of 1 needs no loads.
class RunReader {
 public:
  /// `keeps`: the thread has several runs, of which the loads fill number `r`; arrays of kRuns keep
  /// them, which `declarations` makes. `name`: of the constant that has the run.
  RunReader(const sluice_op& op, int run, bool keeps = false, std::string name = "kRun")
      : dims_(plugin::dims_of(op.outputs[0].tensor)),
        run_(run),
        keeps_(keeps),
        name_(std::move(name)) {}

  std::string read(const std::string& name, const sluice_tensor& tensor);
  const std::string& declarations() const { return declarations_; }
  const std::string& loads() const { return loads_; }

 private:
  std::string keep(const std::string& name, const std::string& type, const std::string& value);

  const Dims dims_;
  const int run_;
  const bool keeps_;
  const std::string name_;
  std::string declarations_, loads_;
};

/// Statements that apply the body to `value`, the operation's own result at neighbour `j` of the
/// run from `i` on, and store the run in output 0. They need the loads of `reader` ahead.
/// Requires: as store_result (body.h); run_functions ahead.
std::string store_run(const sluice_op& op, const std::string& value, RunReader* reader);

/// Finds the start `i` of a thread's run and returns if there is none.
std::string find_run(unsigned threads, std::int64_t num_elements);

/// A kernel whose threads compute a run of output 0 each, from element `i` on.
struct RunKernel {
  /// Neighbour `j`, as an expression; not read if the operation is only a body.
  std::string value;
  /// Statements ahead of the loop over the run.
  std::string statements = {};
  int run = 1;               ///< divides the elements of output 0
  std::int64_t largest = 0;  ///< as ElementKernel::largest
};

/// Writes the kernel, with the body and its inputs behind `parameters`. `reader` has read what the
/// value names.
/// Requires: as store_result.
/// Fails: UNIMPLEMENTED  a launch has too few blocks
Status write_run_kernel(const sluice_op& op, Parameters parameters, const RunKernel& kernel,
                        RunReader* reader, Source* source);

/// As above for a kernel that reads no other operand of its own by runs.
Status write_run_kernel(const sluice_op& op, Parameters parameters, const RunKernel& kernel,
                        Source* source);

}  // namespace sluice::cuda
