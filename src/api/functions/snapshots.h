// What sluice_release frees.
#pragma once

#include <memory>

namespace sluice::api {

/// Keeps `owner` until `release_snapshot(address)`, an address inside it. Safe from any thread.
void keep_snapshot(const void* address, std::shared_ptr<const void> owner);
/// Ignores an address that is not kept.
void release_snapshot(const void* address);

/// Hands `owner->public_part`, a struct of a public header, to the caller.
template <typename Owner, typename Public>
void give_snapshot(std::shared_ptr<Owner> owner, const Public** to) {
  const Public* address = &owner->public_part;
  keep_snapshot(address, std::move(owner));
  *to = address;
}

}  // namespace sluice::api
