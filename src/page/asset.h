// The files of the page, which are in the binary.
#pragma once

#include <span>
#include <string_view>

#include "base/text/asset.h"
#include "http/call.h"

namespace sluice::page {

/// The files of src/page/assets, by name. cmake/SluiceAssets.cmake writes the function.
std::span<const Asset> assets();

/// Null: there is none.
const Asset* find_asset(std::string_view name);

/// The media type that goes with the end of a name.
std::string_view type_of(std::string_view name);

/// With the fields that keep the page to itself: it runs no script and reaches no host but its own,
/// and no other page frames it. 304 where the client has `etag` already.
http::Reply reply_of(const Asset& asset, std::string_view if_none_match);

}  // namespace sluice::page
