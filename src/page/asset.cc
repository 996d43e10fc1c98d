#include "page/asset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::page {
namespace {

/// `blob:` is a picture that the user drops. Trusted types make writing markup from data an error.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes = {{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

}  // namespace

const Asset* find_asset(std::string_view name) {
  const auto all = assets();
  const auto it = std::ranges::find(all, name, &Asset::name);
  return it == all.end() ? nullptr : &*it;
}

std::string_view type_of(std::string_view name) {
  for (const auto& [end, type] : kTypes) {
    if (name.ends_with(end)) return type;
  }
  return http::kBinary;
}

http::Reply reply_of(const Asset& asset, std::string_view if_none_match) {
  http::Reply reply;
  reply.type = type_of(asset.name);
  // "no-cache": the browser asks each time, and gets 304 until the daemon is another one.
  reply.fields = fmt::format(
      "ETag: {}\r\nCache-Control: no-cache\r\nContent-Security-Policy: {}\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n",
      asset.etag, kPolicy);
  if (if_none_match.find(asset.etag) != std::string_view::npos) {
    reply.status = 304;
  } else {
    reply.parts = {asset.bytes};
  }
  return reply;
}

}  // namespace sluice::page
