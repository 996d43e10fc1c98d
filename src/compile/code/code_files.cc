#include "compile/code/code_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "base/file.h"
#include "compile/code/compile_kernels.h"

namespace sluice::compile {
namespace {

using Json = nlohmann::ordered_json;

std::string_view role_of(const ir::Subgraph& subgraph, ir::OperandId id) {
  if (subgraph.is_constant(id)) return "constant";
  if (std::ranges::find(subgraph.inputs, id) != subgraph.inputs.end()) return "input";
  if (std::ranges::find(subgraph.outputs, id) != subgraph.outputs.end()) return "output";
  return "intermediate";
}

/// Passes leave tensors without a name: those are called by their number, as in "%12".
std::string name_of(const ir::Subgraph& subgraph, ir::OperandId id) {
  const std::string& name = subgraph.operand(id).name;
  return name.empty() ? fmt::format("%{}", id.value()) : name;
}

/// The tensors of one subgraph that kernels read or write.
class Schedule {
 public:
  explicit Schedule(const package::Executable& executable) : executable_(executable) {}

  void add(const package::OperationCode& entry) {
    const ir::Subgraph& subgraph =
        executable_.graph.subgraph(ir::SubgraphId(std::size_t{entry.subgraph}));
    const ir::Operation& operation = subgraph.operation(subgraph.order()[entry.operation]);
    const std::string kernel = code_name(operation, entry.code);
    if (named_.insert(kernel).second) add_kernel(kernel, entry.code);
    Json arguments = Json::array();
    for (const std::int32_t number : entry.code.arguments) {
      const ir::OperandId id = operand_of(operation, number);
      arguments.push_back(name_of(subgraph, id));
      if (stored_.emplace(entry.subgraph, id).second) add_storage(entry.subgraph, subgraph, id);
    }
    calls_.push_back({{"operation", operation.name},
                      {"operator", operation.kind},
                      {"subgraph", entry.subgraph},
                      {"kernel", kernel},
                      {"arguments", arguments}});
  }

  std::string text() const {
    const Json whole = {{"storage", storage_}, {"kernels", kernels_}, {"calls", calls_}};
    return whole.dump(2) + "\n";
  }

 private:
  static ir::OperandId operand_of(const ir::Operation& operation, std::int32_t number) {
    const auto index = static_cast<std::size_t>(number < 0 ? -1 - number : number);
    if (number < 0) return operation.outputs[index];
    if (index < operation.inputs.size()) return operation.inputs[index];
    return operation.body->inputs[index - operation.inputs.size()];
  }

  void add_kernel(const std::string& name, const ir::KernelCode& code) {
    Json images = Json::object();
    for (const auto& image : code.images)
      images[image.target] = image_file_name(name, image.target);
    kernels_.push_back({{"name", name},
                        {"source", name + ".cu"},
                        {"function", code.function},
                        {"grid", code.grid},
                        {"block", code.block},
                        {"images", images}});
  }

  void add_storage(std::uint32_t number, const ir::Subgraph& subgraph, ir::OperandId id) {
    const ir::Type& type = subgraph.operand(id).type;
    storage_.push_back({{"name", name_of(subgraph, id)},
                        {"subgraph", number},
                        {"type", type.to_string()},
                        {"bytes", ir::run_bytes(type).value_or(0)},
                        {"role", role_of(subgraph, id)}});
  }

  const package::Executable& executable_;
  std::set<std::string> named_;
  std::set<std::pair<std::uint32_t, ir::OperandId>> stored_;
  Json storage_ = Json::array();
  Json kernels_ = Json::array();
  Json calls_ = Json::array();
};

Status write_images(const std::filesystem::path& folder, const std::string& name,
                    const ir::KernelCode& code) {
  SLUICE_TRY(write_file_atomically(folder / (name + ".cu"), code.source.view()));
  for (const auto& image : code.images) {
    SLUICE_TRY(
        write_file_atomically(folder / image_file_name(name, image.target), image.data.view()));
  }
  return ok_status();
}

}  // namespace

std::string image_file_name(const std::string& kernel, const std::string& target) {
  if (target == "compute_75") return kernel + ".ptx";
  return fmt::format("{}.{}.{}", kernel, target, target.starts_with("compute_") ? "ptx" : "cubin");
}

Status write_code_files(const package::Executable& executable, std::string_view backend,
                        const std::filesystem::path& folder) {
  const bool has_any = std::ranges::any_of(
      executable.code, [&](const auto& entry) { return entry.backend == backend; });
  if (!has_any) {
    return invalid_argument("backend \"{}\" has no compiled kernel in this model", backend);
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return make_error(Code::kPermissionDenied, "cannot make the folder \"{}\": {}", folder.string(),
                      error.message());
  }
  Schedule schedule(executable);
  for (const package::OperationCode& entry : executable.code) {
    if (entry.backend != backend) continue;
    const ir::Subgraph& subgraph =
        executable.graph.subgraph(ir::SubgraphId(std::size_t{entry.subgraph}));
    const ir::Operation& operation = subgraph.operation(subgraph.order()[entry.operation]);
    SLUICE_TRY(write_images(folder, code_name(operation, entry.code), entry.code));
    schedule.add(entry);
  }
  const std::string text = schedule.text();
  return write_file_atomically(folder / "schedule.json", std::as_bytes(std::span(text)));
}

}  // namespace sluice::compile
