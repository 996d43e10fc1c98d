#include "compile/code/torch/torch_files.h"

#include <string>
#include <string_view>

#include "base/file.h"
#include "base/text/asset.h"
#include "compile/code/code_files.h"
#include "compile/code/torch/constants_file.h"
#include "compile/code/torch/launch_plan.h"
#include "compile/code/torch/network_text.h"
#include "compile/code/torch/torch_assets.h"

namespace sluice::compile {
namespace {

constexpr std::string_view kNameMark = "@NAME@";
constexpr std::string_view kTemplateEnd = ".in";  // so that no tool takes a template for a source

std::string with_name(std::string_view text, const std::string& name) {
  std::string filled(text);
  for (std::size_t at = filled.find(kNameMark); at != std::string::npos;
       at = filled.find(kNameMark, at + name.size())) {
    filled.replace(at, kNameMark.size(), name);
  }
  return filled;
}

Status write_text(const std::filesystem::path& path, const std::string& text) {
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace

Status write_torch_files(const package::Executable& executable,
                         const std::filesystem::path& folder) {
  const LaunchPlan plan = SLUICE_TRY(plan_launches(executable));
  if (plan.kernels.empty()) {
    return invalid_argument(
        "no kernel of the model is compiled: an extension needs --backend cuda "
        "and a model that computes");
  }
  SLUICE_TRY(write_code_files(executable, executable.code.front().backend, folder));
  const auto constants =
      SLUICE_TRY(write_constants(folder / "constants.safetensors", executable, plan));
  const auto whole = std::filesystem::absolute(folder).lexically_normal();
  const std::string name =
      identifier_of((whole.has_filename() ? whole : whole.parent_path()).filename().string());
  SLUICE_TRY(write_text(folder / "network.cc", network_text(name, executable, plan, constants)));
  for (const Asset& asset : torch_assets::assets()) {
    const std::string_view file = asset.name.substr(0, asset.name.size() - kTemplateEnd.size());
    SLUICE_TRY(write_text(folder / file, with_name(asset.bytes, name)));
  }
  return ok_status();
}

}  // namespace sluice::compile
