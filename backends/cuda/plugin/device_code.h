// Generated kernels on their way to a device: text, PTX, function.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "driver/driver_table.h"
#include "plugin/compile/nvrtc.h"
#include "plugin/confine/confine.h"
#include "plugin/generate/text/source.h"
#include "plugin/graph_use.h"
#include "plugin/libraries/options.h"
#include "sluice/extensions/kernel_code.h"

namespace sluice::cuda {

/// The driver that a plug-in calls, and what must live as long.
struct Driver {
  DriverTable table;
  bool is_emulated = false;
  Confine confine = Confine::kNothing;
  std::shared_ptr<void> owner;
  LibraryOptions libraries = {};
  GraphUse graphs = GraphUse::kRepeated;
};

/// As that of the driver's table.
Status check_call(const Driver& driver, CuResult result, std::string_view what);

/// A kernel in a device's memory. Unloaded with it.
class LoadedKernel {
 public:
  LoadedKernel(const Driver& driver, CuLibrary library, CuFunction function)
      : driver_(driver), library_(library), function_(function) {}
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel() { driver_.table.library_unload(library_); }

  CuFunction function() const { return function_; }

 private:
  const Driver& driver_;
  CuLibrary library_;
  CuFunction function_;
};

/// The target that every later GPU, and the emulator, can make code from: the lowest that CUDA 13
/// compiles for.
inline constexpr const char* kPortableTarget = "compute_75";

/// The lowest target with asynchronous copies and matrix units for bf16. Packages hold code for it
/// besides, of kernels whose text asks for the architecture.
inline constexpr const char* kAsynchronousTarget = "compute_80";

/// Whether a text is another program for kAsynchronousTarget than for kPortableTarget.
bool depends_on_architecture(std::string_view text);

/// What a kernel is compiled for that a device of this capability (90 for 9.0) runs at once, by a
/// compiler that knows these architectures, ascending: machine code of its own architecture; else
/// PTX of the latest before it, from which the driver makes code. An emulated device runs PTX.
std::string choose_target(int capability, std::span<const int> architectures, bool is_emulated);

/// The image that a device of this capability (80 for 8.0) runs best: machine code of its
/// architecture, or of an earlier one with the same first digit; else PTX; else null. An emulated
/// device runs PTX alone.
const sluice_code_image* choose_image(std::span<const sluice_code_image> images, int capability,
                                      bool is_emulated);

/// Which of the images the device runs at once, or how it comes by code else, and what to do:
///   the package has machine code for sm_120, device 0 is of sm_90: the driver translates PTX
///   (compute_75); compile the model with --arch sm_90
/// "" if `chosen`, the result of choose_image, is machine code.
std::string describe_fit(std::span<const sluice_code_image> images, const sluice_code_image* chosen,
                         CuDevice device, int capability);

/// Compiles and loads kernels; equal texts are compiled and loaded once while one is in use. Safe
/// from several threads.
class KernelStore {
 public:
  /// `driver` outlives the store and its kernels.
  KernelStore(const Driver& driver, std::string nvrtc)
      : driver_(driver), nvrtc_(std::move(nvrtc)) {}

  /// Fails: UNAVAILABLE  kernels cannot be compiled here
  Status check_compiler() { return nvrtc_.open(); }

  /// Compiles for the device's own architecture (choose_target).
  /// Requires: the device's context is current.
  /// Fails: as Nvrtc::compile; as the driver, when it loads the code
  Status load(CuDevice device, const std::string& text,
              std::shared_ptr<const LoadedKernel>* kernel);

  /// Loads code that was compiled elsewhere.
  /// Requires: the device's context is current.
  /// Fails: as the driver
  Status load_image(CuDevice device, const std::string& image,
                    std::shared_ptr<const LoadedKernel>* kernel);

  /// Compiles a text. The code is kept for later calls.
  /// Fails: as Nvrtc::compile
  Status compile(const std::string& text, const std::string& target, std::string* image);

 private:
  const Driver& driver_;
  Nvrtc nvrtc_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::string> compiled_;  // by target and text
  std::map<std::pair<CuDevice, std::string>, std::weak_ptr<const LoadedKernel>> loaded_;  // by code
};

}  // namespace sluice::cuda
