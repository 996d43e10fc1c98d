#include "http/embeddings/embedding_call.h"

#include <fmt/format.h>

#include <utility>

#include "http/fields.h"

namespace sluice::http {
namespace {

using Json = Fields::Json;

Result<std::vector<std::int64_t>> ids_of(const Json& list, const std::string& name) {
  std::vector<std::int64_t> ids;
  for (const Json& id : list) {
    ids.push_back(SLUICE_TRY(Fields::count_of(id, name.c_str(), 0, Fields::kMaxCount)));
  }
  return ids;
}

/// A text, its tokens, or a list of either.
Status read_input(Json input, EmbeddingCall& call) {
  const bool is_one =
      input.is_string() || (input.is_array() && !input.empty() && input.front().is_number());
  if (is_one) input = Json::array({std::move(input)});
  if (!input.is_array() || input.empty()) {
    return invalid_argument("input: expected a text, a list of ids of tokens, or a list of those");
  }
  if (input.size() > kMaxTexts) {
    return invalid_argument("input: a list of {}; at most {} are taken", input.size(), kMaxTexts);
  }
  const bool are_texts = input.front().is_string();
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::string name = fmt::format("input[{}]", i);
    Json& one = input[i];
    if (are_texts ? !one.is_string() : !one.is_array()) {
      return invalid_argument("{}: expected a {}, as the first one", name,
                              are_texts ? "text" : "list of ids");
    }
    if (one.empty() || one == "") return invalid_argument("{}: it is empty", name);
    if (are_texts) {
      call.texts.push_back(std::move(one.get_ref<std::string&>()));
    } else {
      call.ids.push_back(SLUICE_TRY(ids_of(one, name)));
    }
  }
  return ok_status();
}

/// A text, or an object with one, beside which clients keep what is theirs.
Result<std::string> document_of(Json document, std::size_t index) {
  if (document.is_object() && document.contains("text")) {
    Json text = std::move(document["text"]);
    document = std::move(text);
  }
  if (document.is_string()) return std::move(document.get_ref<std::string&>());
  return invalid_argument("documents[{}]: expected a text, or an object with one", index);
}

/// true or false, as servers of embeddings have it, or Cohere's words.
template <typename Call>
Status read_limits(Fields& fields, Call& call) {
  const Json truncate = fields.take("truncate");
  call.is_cut = truncate == true || truncate == "END";
  if (!call.is_cut && !truncate.is_null() && truncate != false && truncate != "NONE") {
    return invalid_argument("truncate: expected true, false, \"END\" or \"NONE\"");
  }
  call.timeout_us = SLUICE_TRY(fields.count("timeout")).value_or(0);
  call.priority = static_cast<std::uint64_t>(SLUICE_TRY(fields.count("priority")).value_or(0));
  return fields.check_all_read();
}

}  // namespace

Result<EmbeddingCall> read_embedding(std::string_view body) {
  EmbeddingCall call;
  Fields fields = SLUICE_TRY(Fields::read(body));
  call.model = SLUICE_TRY(fields.required("model"));
  SLUICE_TRY(read_input(fields.take("input"), call));
  const std::string format = SLUICE_TRY(fields.text("encoding_format")).value_or("float");
  call.is_base64 = format == "base64";
  if (!call.is_base64 && format != "float") {
    return invalid_argument("encoding_format: expected \"float\" or \"base64\"");
  }
  call.dimensions = SLUICE_TRY(fields.count("dimensions", 1));
  SLUICE_TRY(fields.check_unused("embedding_type", {"float"}));
  SLUICE_TRY(read_limits(fields, call));
  return call;
}

Result<RerankCall> read_rerank(std::string_view body) {
  RerankCall call;
  Fields fields = SLUICE_TRY(Fields::read(body));
  call.model = SLUICE_TRY(fields.required("model"));
  call.query = SLUICE_TRY(fields.required("query"));
  auto documents = SLUICE_TRY(fields.items("documents", kMaxTexts));
  if (documents.empty())
    return invalid_argument("documents: expected a list with at least one text");
  for (std::size_t i = 0; i < documents.size(); ++i) {
    call.documents.push_back(SLUICE_TRY(document_of(std::move(documents[i]), i)));
  }
  call.top_n = SLUICE_TRY(fields.count("top_n", 1));
  call.max_tokens_per_doc = SLUICE_TRY(fields.count("max_tokens_per_doc", 1));
  // A document that the model takes is one chunk.
  SLUICE_TRY(fields.count("max_chunks_per_doc", 1));
  SLUICE_TRY(fields.check_unused("rank_fields", {Json::array({"text"})}));
  call.returns_documents = SLUICE_TRY(fields.flag("return_documents"));
  SLUICE_TRY(read_limits(fields, call));
  return call;
}

}  // namespace sluice::http
