#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/checked.h"
#include "base/text/number.h"
#include "ir/text/graph_text.h"
#include "ir/text/lexer.h"
#include "ir/text/literal.h"

namespace sluice::ir {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::span<const Bytes> numbered)
      : lexer_(text), numbered_(numbered) {}

  Result<Graph> run() {
    // The order of a text: facts first, then subgraphs, of which the first is the main one and must
    // exist.
    while (lexer_.take_word("fact")) {
      std::string name = SLUICE_TRY(lexer_.quoted());
      SLUICE_TRY(lexer_.expect('='));
      graph_.metadata[std::move(name)] = SLUICE_TRY(lexer_.quoted());
    }
    std::size_t count = 0;
    do {
      SLUICE_TRY(parse_subgraph(count++));
    } while (!lexer_.is_at_end());
    return std::move(graph_);
  }

 private:
  Status parse_subgraph(std::size_t number) {
    SLUICE_TRY(lexer_.expect_word("subgraph"));
    const SubgraphId id = SLUICE_TRY(subgraph_id());
    // Bodies refer to subgraphs by number before these are read, so the numbers cannot be free.
    if (id.index() != number) return lexer_.error("subgraphs must be numbered in order from @0");
    std::string name = SLUICE_TRY(lexer_.quoted());
    if (number == 0) {
      graph_.main().name = std::move(name);
    } else {
      graph_.add_subgraph(std::move(name));
    }
    subgraph_ = &graph_.subgraph(id);
    // A name belongs to one subgraph; two subgraphs may use equal names for different operands.
    names_.clear();
    SLUICE_TRY(lexer_.expect('{'));
    while (!lexer_.take('}')) SLUICE_TRY(parse_line());
    return ok_status();
  }

  Status parse_line() {
    if (lexer_.take_word("input")) {
      subgraph_->inputs.push_back(SLUICE_TRY(declaration()));
    } else if (lexer_.take_word("const")) {
      const OperandId id = SLUICE_TRY(declaration());
      // `_` stands for an absent operand, which has no type and could not hold the elements.
      if (!id.is_valid()) return lexer_.error("a constant needs a name");
      SLUICE_TRY(lexer_.expect('='));
      Operand& operand = subgraph_->operand(id);
      operand.constant = SLUICE_TRY(lexer_.take_word("left_out") ? left_out(operand.type)
                                                                 : constant_of(operand.type));
    } else if (lexer_.take_word("output")) {
      subgraph_->outputs = SLUICE_TRY(operands());
    } else {
      SLUICE_TRY(parse_operation());
    }
    return ok_status();
  }

  Status parse_operation() {
    Operation operation;
    SLUICE_TRY(list([&]() -> Status {
      operation.outputs.push_back(SLUICE_TRY(declaration()));
      return ok_status();
    }));
    SLUICE_TRY(lexer_.expect('='));
    SLUICE_TRY(parse_kind(operation));
    operation.inputs = SLUICE_TRY(operands());
    // The parts behind the inputs are optional, and each starts with a character of its own, so one
    // character of lookahead decides.
    if (lexer_.take_word("body")) {
      const SubgraphId body = SLUICE_TRY(subgraph_id());
      operation.body = Body{body, SLUICE_TRY(operands())};
    }
    if (lexer_.peek() == '{') SLUICE_TRY(parse_attributes(operation.attributes));
    if (lexer_.peek() == '"') operation.name = SLUICE_TRY(lexer_.quoted());
    subgraph_->add_operation(std::move(operation));
    return ok_status();
  }

  /// `domain::Kind.version`; where quotes are needed they stand around all but the version.
  Status parse_kind(Operation& operation) {
    const bool is_quoted = lexer_.peek() == '"';
    std::string full = SLUICE_TRY(lexer_.word_or_quoted());
    std::string version = is_quoted ? SLUICE_TRY(lexer_.word()) : full;
    // The last dot, as domains such as ai.onnx.ml have dots of their own. The last :: parts domain
    // and kind for the same reason.
    const std::size_t dot = version.rfind('.');
    if (dot == std::string::npos) return lexer_.error("an operator needs a version: Relu.14");
    if (!is_quoted) full.resize(dot);
    const auto parsed = to_number<int>(std::string_view(version).substr(dot + 1));
    if (!parsed) return lexer_.error("the version is not a number");
    operation.version = *parsed;
    const std::size_t colons = full.rfind("::");
    operation.kind = colons == std::string::npos ? full : full.substr(colons + 2);
    if (colons != std::string::npos) operation.domain = full.substr(0, colons);
    return ok_status();
  }

  Status parse_attributes(Attributes& attributes) {
    SLUICE_TRY(lexer_.expect('{'));
    if (lexer_.take('}')) return ok_status();
    do {
      std::string name = SLUICE_TRY(lexer_.word_or_quoted());
      SLUICE_TRY(lexer_.expect('='));
      Attribute value = SLUICE_TRY(attribute());
      attributes.set(std::move(name), std::move(value));
    } while (lexer_.take(','));
    return lexer_.expect('}');
  }

  Result<Attribute> attribute() {
    if (lexer_.peek() == '"') return Attribute(SLUICE_TRY(lexer_.quoted()));
    if (lexer_.peek() == '@') return Attribute(SLUICE_TRY(subgraph_id()));
    // Lists of whole numbers have no word before them; lists of other kinds name theirs, so that an
    // empty list keeps its kind.
    if (lexer_.peek() == '[') {
      return values<std::int64_t>([&] { return lexer_.integer(); });
    }
    if (lexer_.take_word("floats")) {
      return values<float>([&] { return float_value(); });
    }
    if (lexer_.take_word("texts")) {
      return values<std::string>([&] { return lexer_.quoted(); });
    }
    if (lexer_.take_word("subgraphs")) {
      return values<SubgraphId>([&] { return subgraph_id(); });
    }
    if (lexer_.take_word("tensors")) {
      return values<Constant>([&]() -> Result<Constant> {
        SLUICE_TRY(lexer_.expect_word("tensor"));
        return tensor();
      });
    }
    if (lexer_.take_word("tensor")) return Attribute(SLUICE_TRY(tensor()));
    if (lexer_.take_word("type")) return Attribute(SLUICE_TRY(type()));
    return number();
  }

  /// An integer, or a float: something with '.', 'e', "inf" or "nan" in it.
  Result<Attribute> number() {
    const std::string word = SLUICE_TRY(lexer_.word());
    if (word.find_first_of(".eni") == std::string::npos) {
      if (const auto value = to_number<std::int64_t>(word)) return Attribute(*value);
    } else if (const auto value = to_number<float>(word)) {
      return Attribute(*value);
    }
    return lexer_.error(fmt::format("\"{}\" is not an attribute value", word));
  }

  Result<float> float_value() {
    const std::string word = SLUICE_TRY(lexer_.word());
    const auto value = to_number<float>(word);
    if (!value) return lexer_.error(fmt::format("\"{}\" is not a float", word));
    return *value;
  }

  template <typename T, typename Read>
  Result<Attribute> values(const Read& read) {
    std::vector<T> all;
    SLUICE_TRY(list([&]() -> Status {
      all.push_back(SLUICE_TRY(read()));
      return ok_status();
    }));
    return Attribute(std::move(all));
  }

  /// `[` items separated by commas `]`.
  template <typename Read>
  Status list(const Read& read) {
    SLUICE_TRY(lexer_.expect('['));
    if (lexer_.take(']')) return ok_status();
    do {
      SLUICE_TRY(read());
    } while (lexer_.take(','));
    return lexer_.expect(']');
  }

  Result<Constant> tensor() {
    const Type tensor_type = SLUICE_TRY(type());
    SLUICE_TRY(lexer_.expect('='));
    return constant_of(tensor_type);
  }

  Result<Constant> constant_of(const Type& constant_type) {
    // Data is read before the type is checked, because the position of an error is that of the
    // lexer.
    Bytes data = SLUICE_TRY(constant_data(constant_type));
    const auto wanted = storage_bytes(constant_type);
    const bool is_text = constant_type.element() == ElementType::kString;
    if (!constant_type.is_static() || (!is_text && !wanted)) {
      return lexer_.error("a constant needs a tensor type of known size");
    }
    // Readers of constants trust this: size and type agree for every constant of a graph.
    if (wanted && static_cast<std::uint64_t>(*wanted) != data.size()) {
      return lexer_.error(fmt::format("{} takes {} bytes, the constant has {}",
                                      constant_type.to_string(), *wanted, data.size()));
    }
    return Constant{constant_type, std::move(data)};
  }

  Result<Constant> left_out(const Type& constant_type) {
    Constant constant = {constant_type, Bytes()};
    if (is_left_out(constant)) return constant;
    return lexer_.error("a constant of this type cannot be left out");
  }

  Result<Bytes> constant_data(const Type& constant_type) {
    if (lexer_.take('#')) {
      // #N refers to bytes that lie beside the text, as in a package: large constants are not
      // written as digits.
      const std::int64_t number = SLUICE_TRY(lexer_.integer());
      if (number < 0 || static_cast<std::size_t>(number) >= numbered_.size()) {
        return lexer_.error(fmt::format("there is no constant #{}", number));
      }
      return numbered_[static_cast<std::size_t>(number)];
    }
    if (lexer_.take_word("hex")) {
      const std::string digits = SLUICE_TRY(lexer_.word());
      // The lexer has no empty word, so a hyphen stands for no bytes.
      if (digits == "-") return Bytes();
      auto bytes = from_hex(digits);
      return bytes ? Result<Bytes>(Bytes::own(std::move(*bytes))) : lexer_.error("bad hex digits");
    }
    if (lexer_.take_word("splat")) return splat(constant_type);
    std::vector<std::string> words;
    SLUICE_TRY(list([&]() -> Status {
      words.push_back(SLUICE_TRY(lexer_.word()));
      return ok_status();
    }));
    return elements(constant_type, words);
  }

  Result<Bytes> elements(const Type& constant_type, const std::vector<std::string>& words) {
    auto bytes = element_bytes(constant_type.element(), words);
    if (!bytes) return lexer_.error("the elements do not fit the constant's type");
    return Bytes::own(std::move(*bytes));
  }

  /// A few characters make many bytes: all splats of a text together are bounded, so that a small
  /// file cannot ask for gigabytes of memory.
  Result<Bytes> splat(const Type& constant_type) {
    constexpr std::int64_t kMaxBytes = std::int64_t{16} << 20;
    const Bytes element = SLUICE_TRY(elements(constant_type, {SLUICE_TRY(lexer_.word())}));
    const auto size = storage_bytes(constant_type);
    if (!size || element.size() == 0) return lexer_.error("a splat needs a type of known size");
    if (*size > kMaxBytes - splat_bytes_) {
      return lexer_.error(fmt::format("the splats of a text make at most {} bytes", kMaxBytes));
    }
    splat_bytes_ += *size;
    std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
    for (std::size_t done = 0; done < bytes.size();) {  // doubles what is there
      const std::size_t next = std::min(done == 0 ? element.size() : done, bytes.size() - done);
      std::memcpy(bytes.data() + done, done == 0 ? element.data() : bytes.data(), next);
      done += next;
    }
    return Bytes::own(std::move(bytes));
  }

  Result<Type> type() {
    // parse_type reads a type alone and knows no lines; its message gets the lexer's place here.
    auto parsed = parse_type(lexer_.type_text());
    if (!parsed.is_ok()) return lexer_.error(parsed.status().message());
    return parsed;
  }

  Result<SubgraphId> subgraph_id() {
    SLUICE_TRY(lexer_.expect('@'));
    const std::int64_t number = SLUICE_TRY(lexer_.integer());
    // Far above any real graph, and small enough for the 32 bits of an id.
    constexpr std::int64_t kMaxSubgraphs = 1 << 20;
    if (number < 0 || number > kMaxSubgraphs) return lexer_.error("no such subgraph number");
    return SubgraphId(static_cast<std::int32_t>(number));
  }

  /// `%name`, or `_` for an absent one. The first mention of a name makes the operand.
  Result<OperandId> operand() {
    if (lexer_.take_word("_")) return OperandId();
    SLUICE_TRY(lexer_.expect('%'));
    const bool is_quoted = lexer_.peek() == '"';
    std::string name = SLUICE_TRY(lexer_.word_or_quoted());
    // Digits without quotes number an operand that has no name; in quotes they are its name.
    const bool is_number = !is_quoted && name.find_first_not_of("0123456789") == std::string::npos;
    const auto [it, is_new] = names_.emplace(std::pair(is_number, name), OperandId());
    if (is_new) {
      it->second = subgraph_->add_operand({is_number ? std::string() : std::move(name), {}, {}});
    }
    return it->second;
  }

  Result<std::vector<OperandId>> operands() {
    std::vector<OperandId> ids;
    SLUICE_TRY(list([&]() -> Status {
      ids.push_back(SLUICE_TRY(operand()));
      return ok_status();
    }));
    return ids;
  }

  /// `%name : type`, or `_`.
  Result<OperandId> declaration() {
    const OperandId id = SLUICE_TRY(operand());
    if (!id.is_valid()) return id;
    SLUICE_TRY(lexer_.expect(':'));
    subgraph_->operand(id).type = SLUICE_TRY(type());
    return id;
  }

  Lexer lexer_;
  std::int64_t splat_bytes_ = 0;
  std::span<const Bytes> numbered_;
  Graph graph_;
  Subgraph* subgraph_ = nullptr;
  std::map<std::pair<bool, std::string>, OperandId> names_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, std::span<const Bytes> numbered) {
  return Parser(text, numbered).run();
}

}  // namespace sluice::ir
