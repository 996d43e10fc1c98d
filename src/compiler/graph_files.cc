#include "compiler/graph_files.h"

#include <cctype>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "ir/text/graph_text.h"

namespace sluice::compiler {
namespace {

constexpr std::int64_t kMaxShownElements = 16;

/// "00-import.txt": what `write` makes, and nothing that a user may have put there.
bool is_graph_file(const std::string& name) {
  return name.size() > 7 && std::isdigit(static_cast<unsigned char>(name[0])) != 0 &&
         std::isdigit(static_cast<unsigned char>(name[1])) != 0 && name[2] == '-' &&
         name.ends_with(".txt");
}

}  // namespace

Result<GraphFiles> GraphFiles::create(std::filesystem::path folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return make_error(Code::kPermissionDenied, "cannot make the folder \"{}\": {}", folder.string(),
                      error.message());
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (is_graph_file(entry.path().filename())) std::filesystem::remove(entry.path(), error);
  }
  return GraphFiles(std::move(folder));
}

Status GraphFiles::write(std::string_view stage, const ir::Graph& graph) {
  std::size_t num_large = 0;
  const auto number = [&](const ir::Constant& constant) -> std::optional<std::size_t> {
    const auto dims = constant.type.static_dims();
    const auto count = dims ? ir::num_elements(*constant.type.shape()) : std::nullopt;
    if (count && *count <= kMaxShownElements) return std::nullopt;
    return num_large++;
  };
  const std::string text = ir::print(graph, number);
  const auto path = folder_ / fmt::format("{:02}-{}.txt", next_++, stage);
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace sluice::compiler
