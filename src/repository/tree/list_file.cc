#include "repository/tree/list_file.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxListBytes = 1 << 20;

Result<ListFile::List> parse(std::string_view text, const fs::path& file) {
  ModelList list =
      SLUICE_TRY(read_model_list(text, file.parent_path()).with_context(file.filename().string()));
  return std::make_shared<const ModelList>(std::move(list));
}

}  // namespace

Result<ListFile::List> ListFile::read(const fs::path& file) {
  const std::lock_guard lock(mutex_);
  // The version is older than the text: a change between the two is found by the next call.
  std::string now = file_version(file);
  if (list_ && now == version_) return *list_;
  list_.reset();
  const std::string text = SLUICE_TRY(read_text_file(file, kMaxListBytes));
  version_ = std::move(now);
  list_ = parse(text, file);
  return *list_;
}

void ListFile::forget() {
  const std::lock_guard lock(mutex_);
  list_.reset();
}

}  // namespace sluice::repository
