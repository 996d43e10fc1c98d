// The fields of a struct (terms/field.h) in those of a message that have their names.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "terms/field.h"

namespace sluice::rpc::wire {

// Requires: the message has a field of the name, a number, a bool or a string.

/// None if it is absent: not set where the protocol says "optional", else 0.
std::optional<std::int64_t> read_number(const google::protobuf::Message& from, const char* name);
std::optional<double> read_real(const google::protobuf::Message& from, const char* name);
std::string read_text(const google::protobuf::Message& from, const char* name);
void write_number(google::protobuf::Message& to, const char* name, std::int64_t number);
void write_real(google::protobuf::Message& to, const char* name, double number);
/// protobuf refuses a message with a string that is not UTF-8: names from files, peers and plug-ins
/// are cleaned.
void write_text(google::protobuf::Message& to, const char* name, const std::string& text);

/// Reads options: an absent one keeps its value. Checks no range.
template <typename Options>
void read_options(const google::protobuf::Message& from, Options& to) {
  Options::visit_fields([&](const terms::Field& field, auto of) {
    if (const auto number = read_number(from, field.name)) terms::set_number(of(to), *number);
  });
}

/// What is absent is 0, empty or none.
template <typename Struct>
void read_fields(const google::protobuf::Message& from, Struct& to) {
  Struct::visit_fields([&](const terms::Field& field, auto of) {
    using Member = decltype(of(to));
    if constexpr (std::is_same_v<Member, std::string&>) {
      of(to) = read_text(from, field.name);
    } else if constexpr (std::is_same_v<Member, std::optional<double>&>) {
      of(to) = read_real(from, field.name);
    } else if constexpr (std::is_same_v<Member, std::optional<std::int64_t>&>) {
      of(to) = read_number(from, field.name);
    } else {
      terms::set_number(of(to), read_number(from, field.name).value_or(0));
    }
  });
}

template <typename Struct>
void write_fields(const Struct& from, google::protobuf::Message& to) {
  Struct::visit_fields([&](const terms::Field& field, auto of) {
    using Member = decltype(of(from));
    if constexpr (std::is_same_v<Member, const std::string&>) {
      write_text(to, field.name, of(from));
    } else if constexpr (std::is_same_v<Member, const std::optional<double>&>) {
      if (of(from)) write_real(to, field.name, *of(from));
    } else if (const auto number = terms::number_of(of(from))) {
      write_number(to, field.name, *number);
    }
  });
}

}  // namespace sluice::rpc::wire
