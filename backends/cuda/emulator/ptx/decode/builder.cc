#include "emulator/ptx/decode/builder.h"

#include <algorithm>
#include <charconv>

#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

// A warp's registers; a block of 32 warps then has at most 128 MiB of them.
constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxLocalBytes = std::size_t{512} << 10;  // per thread, as on devices
constexpr std::size_t kMaxScopes = 64;
constexpr std::uint32_t kLanes = 32;

std::size_t round_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

Builder::Builder(const Names* module_names, const std::vector<ModuleShared>* module_shared)
    : module_names_(module_names), module_shared_(module_shared) {
  wide_sink_ = new_place(Type::kB64);
  sink_ = new_place(Type::kB32);
  carry_ = new_place(Type::kPred);
}

void Builder::open_scope() {
  if (scopes_.size() == kMaxScopes) refuse_size(0, "scopes are nested too deeply");
  scopes_.emplace_back();
}

void Builder::close_scope() {
  const Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (const Branch& branch : scope.branches) {
    const auto label = scope.labels.find(branch.name);
    if (label != scope.labels.end()) {
      (branch.in_list ? program_.list[branch.at] : program_.code[branch.at].target) = label->second;
    } else if (!scopes_.empty()) {
      scopes_.back().branches.push_back(branch);
    } else {
      refuse_text(branch.line, "no label \"" + std::string(branch.name) + "\"");
    }
  }
}

void Builder::declare(std::uint32_t line, std::string_view name, const Symbol& symbol) {
  if (!scopes_.back().names.emplace(name, symbol).second) {
    refuse_text(line, "\"" + std::string(name) + "\" is declared twice");
  }
}

void Builder::declare_registers(std::uint32_t line, std::string_view name, Type type,
                                std::uint32_t count) {
  Symbol symbol;
  symbol.type = type;
  symbol.count = count;
  if (std::uint64_t{count} * kLanes * 4 > kMaxFileBytes) refuse_size(line, "too many registers");
  if (type != Type::kPred) register_count_ += (is_wide(type) ? 2 : 1) * std::max(count, 1u);
  if (type == Type::kPred) predicates_left_ = 0;  // a range lies together
  symbol.place = new_place(type);
  for (std::uint32_t i = 1; i < count; ++i) new_place(type);
  declare(line, name, symbol);
}

Place Builder::new_place(Type type) {
  if (type == Type::kPred && predicates_left_ > 0) {
    --predicates_left_;
    return predicate_place_ += 4;
  }
  const std::uint32_t bytes = is_wide(type) ? kLanes * 8 : kLanes * 4;
  const Place place = program_.file_bytes;
  if (place + bytes > kMaxFileBytes) refuse_size(0, "a kernel has too many registers");
  program_.file_bytes += bytes;
  if (type == Type::kPred) {
    predicate_place_ = place;
    predicates_left_ = kLanes - 1;
  }
  return is_wide(type) ? place + 1 : place;
}

Symbol Builder::allocate(std::uint32_t line, Space space, std::size_t size, std::size_t alignment) {
  const bool is_shared = space == Space::kShared;
  std::uint32_t& used = is_shared ? program_.static_shared_bytes : program_.local_bytes;
  const std::size_t limit = is_shared ? std::size_t{kMaxSharedBytes} : kMaxLocalBytes;
  const std::size_t begin = round_up(used, alignment);
  if (size > limit || begin + size > limit) {
    refuse_size(line, std::string("more than ") + std::to_string(limit) + " bytes of " +
                          (is_shared ? "shared memory" : "local memory"));
  }
  used = static_cast<std::uint32_t>(begin + size);
  Symbol symbol;
  symbol.kind = Symbol::Kind::kMemory;
  symbol.space = space;
  symbol.offset_bytes = begin;
  return symbol;
}

void Builder::label(std::uint32_t line, std::string_view name) {
  const auto here = static_cast<std::uint32_t>(program_.code.size());
  if (!scopes_.back().labels.emplace(name, here).second) {
    refuse_text(line, "label \"" + std::string(name) + "\" stands twice");
  }
}

void Builder::branch(std::uint32_t line, std::string_view name, std::size_t at, bool in_list) {
  scopes_.back().branches.push_back({name, at, line, in_list});
}

void Builder::declare_targets(std::string_view name, std::vector<std::string_view> labels) {
  targets_[name] = std::move(labels);
}

const std::vector<std::string_view>* Builder::find_targets(std::string_view name) const {
  const auto found = targets_.find(name);
  return found == targets_.end() ? nullptr : &found->second;
}

const Symbol* Builder::find(std::string_view name) {
  const std::size_t stem = name.find_last_not_of("0123456789") + 1;
  std::uint32_t number = 0;
  const bool has_number =
      stem < name.size() && (name[stem] != '0' || stem + 1 == name.size()) &&
      std::from_chars(name.data() + stem, name.data() + name.size(), number).ec == std::errc();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto exact = scope->names.find(name);
    if (exact != scope->names.end() && exact->second.count == 0) return &exact->second;
    const auto range = has_number ? scope->names.find(name.substr(0, stem)) : scope->names.end();
    if (range == scope->names.end() || number >= range->second.count) continue;
    found_ = range->second;
    found_.count = 0;
    const std::uint32_t step = found_.type == Type::kPred ? 4
                               : is_wide(found_.type)     ? kLanes * 8
                                                          : kLanes * 4;
    found_.place += number * step;
    return &found_;
  }
  const auto global = module_names_->find(name);
  return global == module_names_->end() ? nullptr : &global->second;
}

Place Builder::initial(InitialValue value, bool is_wide) {
  value.place = new_place(is_wide ? Type::kB64 : Type::kB32);
  program_.initial.push_back(value);
  return value.place;
}

Place Builder::number(std::uint64_t bits, bool is_wide) {
  if (!is_wide) bits &= 0xffffffffu;
  const auto [found, is_new] = numbers_.try_emplace({bits, is_wide});
  if (is_new) found->second = initial({0, Initial::kNumber, bits, 0}, is_wide);
  return found->second;
}

Place Builder::special(Initial what, bool is_wide) {
  const auto [found, is_new] = specials_.try_emplace({what, is_wide});
  if (is_new) found->second = initial({0, what, 0, 0}, is_wide);
  return found->second;
}

Place Builder::address(const Symbol& symbol, std::int64_t offset, bool is_wide) {
  const auto more = static_cast<std::uint64_t>(offset);
  switch (symbol.kind) {
    case Symbol::Kind::kVariable:
      return initial({0, Initial::kVariable, more, static_cast<std::uint32_t>(symbol.offset_bytes)},
                     is_wide);
    case Symbol::Kind::kDynamicShared:
      dynamic_.push_back(program_.initial.size());
      dynamic_alignment_ = std::max<std::size_t>(dynamic_alignment_, symbol.offset_bytes);
      return initial({0, Initial::kNumber, more, 0}, is_wide);
    case Symbol::Kind::kModuleShared: {
      const auto [found, is_new] = shared_offsets_.try_emplace(symbol.offset_bytes);
      const ModuleShared& shared = (*module_shared_)[symbol.offset_bytes];
      if (is_new) {
        found->second =
            allocate(0, Space::kShared, shared.size_bytes, shared.alignment_bytes).offset_bytes;
      }
      return number(found->second + more, is_wide);
    }
    default: return number(symbol.offset_bytes + more, is_wide);
  }
}

void Builder::finish() {
  if (dynamic_.empty()) return;
  program_.static_shared_bytes =
      static_cast<std::uint32_t>(round_up(program_.static_shared_bytes, dynamic_alignment_));
  for (const std::size_t at : dynamic_) program_.initial[at].bits += program_.static_shared_bytes;
}

}  // namespace sluice::cuda::ptx
