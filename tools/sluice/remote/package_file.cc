#include "sluice/remote/package_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/process/child.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

/// A folder that the last owner removes.
Result<std::shared_ptr<const fs::path>> make_folder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "sluice-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    return make_error(Code::kUnavailable, "{}: cannot make a folder there: {}", name,
                      std::strerror(errno));
  }
  return std::shared_ptr<const fs::path>(new fs::path(name), [](const fs::path* folder) {
    std::error_code ignored;
    fs::remove_all(*folder, ignored);
    delete folder;
  });
}

}  // namespace

void PackageOptions::add_to(Options& options) {
  options.add("package", path_, "A .sluice file, or an ONNX or GGUF file, which is compiled first")
      .required();
  options.add("--backend", backends_, "Backend for the compilation of such a file (default: cpu)")
      .repeatable();
  options.flag("--by-path", is_by_path_,
               "The daemon reads the file itself, from one of its model folders");
}

std::string PackageOptions::path() const { return fs::absolute(path_).string(); }

std::string PackageOptions::stem() const { return fs::path(path_).stem().string(); }

Result<PackageOptions::File> PackageOptions::find(const std::string& path) {
  PackageOptions options;
  options.path_ = path;
  return options.find();
}

Result<PackageOptions::File> PackageOptions::find() const {
  const fs::path ending = fs::path(path_).extension();
  if (ending != ".onnx" && ending != ".gguf") {
    return File{is_by_path_ ? path() : path_, nullptr};
  }
  if (is_by_path_) {
    return invalid_argument(
        "{}: the daemon reads packages only; leave out --by-path, or compile the file first",
        path_);
  }
  // Only the program `sluice` has the compiler; this one runs it beside itself. The folder lives
  // until the caller has sent the file.
  auto folder = SLUICE_TRY(make_folder());
  const std::string package = (*folder / (stem() + ".sluice")).string();
  std::vector<std::string> words = {"sluice", "compile", fs::absolute(path_).string(), "-o",
                                    package};
  for (const std::string& backend : backends_) words.insert(words.end(), {"--backend", backend});
  constexpr bool kShowsErrors = true;
  const auto end =
      SLUICE_TRY(run_child(program_beside("sluice"), std::move(words), {}, {}, kShowsErrors));
  if (!end.is_success()) {
    return invalid_argument("{} was not compiled; the line above says why", path_);
  }
  return File{package, std::move(folder)};
}

}  // namespace sluice::tool
