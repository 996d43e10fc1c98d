// The plug-in `cuda`: devices of the installed driver.

#include "plugin/table.h"

namespace sluice::cuda {
namespace {

struct InstalledDriver {
  static constexpr const char* kName = "cuda";

  static Status open(std::span<const sluice_option> options, Driver* driver, std::string* nvrtc) {
    std::string library = kDriverLibrary;
    std::string_view confine = usual_confine();
    std::string_view libraries = usual_libraries();
    bool is_library_wanted = false;
    std::string_view graphs = usual_graph_use();
    for (const sluice_option& option : options) {
      const std::string_view name = option.name;
      if (name == "nvrtc") {
        *nvrtc = option.value;
      } else if (name == "confine") {
        confine = option.value;
      } else if (name == "graphs") {
        graphs = option.value;
      } else if (name == "driver") {
        library = option.value;
      } else if (name == "libraries") {
        libraries = option.value;
        is_library_wanted = libraries != "none";
      } else if (name == "cublaslt") {
        driver->libraries.cublaslt = option.value;
      } else if (name == "cudnn") {
        driver->libraries.cudnn = option.value;
      } else {
        return plugin::invalid_argument(
            "unknown option \"" + std::string(name) +
            "\"; there are: confine, cublaslt, cudnn, driver, graphs, libraries, nvrtc");
      }
    }
    Status status = parse_confine(confine, &driver->confine);
    if (status.is_ok()) status = parse_libraries(libraries, &driver->libraries);
    if (status.is_ok()) status = parse_graph_use(graphs, &driver->graphs);
    if (!status.is_ok()) return status;
    // A handle of cuDNN takes no stream of a green context, and kernels of libraries know no masks.
    driver->libraries.convolve = driver->confine == Confine::kNothing;
    if (driver->confine == Confine::kMasks) driver->libraries.are_used = false;
    status = open_driver(library, &driver->table);
    if (!status.is_ok() || exports_functions(library)) return status;
    if (is_library_wanted) {
      return {SLUICE_FAILED_PRECONDITION,
              "libraries: NVIDIA's libraries find no functions in the driver " + library +
                  ", which is emulated; give libraries=none"};
    }
    driver->libraries.are_used = false;
    return status;
  }
};

}  // namespace
}  // namespace sluice::cuda

SLUICE_PLUGIN(sluice::cuda::CudaPlugin<sluice::cuda::InstalledDriver>)
