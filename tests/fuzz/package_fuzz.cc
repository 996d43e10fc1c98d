// Reads any bytes as a .sluice file, and loads what is read as far as no plug-in is needed.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "exec/loaded_model.h"
#include "package/package.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const sluice::Bytes file = sluice::MutableBytes::copy_of(bytes).freeze();
  auto executable = sluice::package::parse_package(file);
  if (!executable.is_ok()) return 0;
  executable->backends.clear();
  for (auto& subgraph : executable->backend_of) {
    for (std::int16_t& backend : subgraph) backend = -1;
  }
  static const auto kNoBackends = sluice::backend::BackendRegistry();
  const auto model =
      sluice::exec::LoadedModel::load(std::move(executable).value(), kNoBackends, {});
  static_cast<void>(model.is_ok());
  return 0;
}
