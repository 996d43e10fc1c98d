// Which files beside an ONNX file it names, without an import.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>

namespace sluice::onnx {

/// Values of the entries "location" of external data, wherever they stand in `model`. Looks for the
/// entries' bytes and parses nothing else: a weight that happens to hold such bytes adds a name,
/// and an entry whose value stands before its key, as no known program writes it, is missed.
std::set<std::string> external_locations(std::span<const std::byte> model);

}  // namespace sluice::onnx
