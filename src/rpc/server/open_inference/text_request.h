// Texts over ModelStreamInfer, in the words of Triton's models that write texts.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "dispatch/model_ref.h"
#include "open_inference/request.h"
#include "proto/open_inference/service.pb.h"

namespace sluice::rpc::server {

/// Whether a request to a model that generates texts asks for one: it has an input text_input.
bool asks_for_text(const dispatch::ModelRef& model, const inference::ModelInferRequest& message);

/// What a text's request says.
struct TextBody {
  std::string json;  ///< as POST .../generate has it
  bool is_streamed = false;
};

/// Each input and each parameter is a field by its name. The fields of the input
/// sampling_parameters, JSON in a text, are the request's own. Texts that are numbers or bools are
/// taken for those, as Triton's clients send them. `plain`: the message's request, with its
/// regions open.
/// Fails: kBadInput for elements that are not what their shape and type say, and for JSON that is
///        no object.
Result<TextBody> read_text_body(const inference::ModelInferRequest& message,
                                const open_inference::InferRequest& plain);

/// One response with a text_output. `is_final`: the last.
void write_text(std::string_view text, bool is_final, const dispatch::ModelRef& model,
                const inference::ModelInferRequest& message, inference::ModelInferResponse& to);
/// Behind the last piece. Clients that ask for an empty one get it without outputs, others with an
/// empty text.
void write_text_end(const dispatch::ModelRef& model, const inference::ModelInferRequest& message,
                    inference::ModelInferResponse& to);

}  // namespace sluice::rpc::server
