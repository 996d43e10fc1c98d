#include "backend/variants.h"

#include "backend/handle.h"
#include "backend/handshake.h"

namespace sluice::backend {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostVariants = 64;

struct Found {
  std::vector<std::string> names;
  bool is_broken = false;
};

// No exception may pass the plug-in that calls it.
void visit(void* user, const char* name) noexcept {
  auto& found = *static_cast<Found*>(user);
  auto text = bounded_text(name, kLongestName);
  if (!text || text->empty() || found.names.size() == kMostVariants) {
    found.is_broken = true;
    return;
  }
  found.names.push_back(*std::move(text));
}

}  // namespace

Result<std::vector<std::string>> list_variants(const Backend& backend, const Op& op,
                                               int num_cores) {
  const auto* table =
      static_cast<const sluice_variants*>(SLUICE_TRY(backend.find_extension(SLUICE_VARIANTS)));
  if (table == nullptr || table->struct_size < sizeof(sluice_variants) || table->list == nullptr) {
    return std::vector<std::string>();
  }
  Found found;
  SLUICE_TRY(call_plugin(backend.name(), [&](sluice_message* message) {
               return table->list(backend.handle(), &op.get(), num_cores, visit, &found, message);
             }).with_context(op.describe()));
  if (found.is_broken) {
    return internal_error("backend \"{}\" tells ways to compute {} that have no name or no end",
                          backend.name(), op.describe());
  }
  return std::move(found.names);
}

}  // namespace sluice::backend
