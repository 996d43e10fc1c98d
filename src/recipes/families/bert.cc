// BERT and those that differ from it in names: RoBERTa, XLM-RoBERTa, DistilBERT.
#include <algorithm>
#include <string>

#include "recipes/families/families.h"

namespace sluice::recipes {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 24;

constexpr EncoderNames kBertNames = {.prefix = "bert.",
                                     .layer = "encoder.layer.{}.",
                                     .query = "attention.self.query",
                                     .key = "attention.self.key",
                                     .value = "attention.self.value",
                                     .attention_output = "attention.output.dense",
                                     .attention_norm = "attention.output.LayerNorm",
                                     .inner = "intermediate.dense",
                                     .output = "output.dense",
                                     .output_norm = "output.LayerNorm"};

constexpr EncoderNames kDistilNames = {.prefix = "distilbert.",
                                       .layer = "transformer.layer.{}.",
                                       .query = "attention.q_lin",
                                       .key = "attention.k_lin",
                                       .value = "attention.v_lin",
                                       .attention_output = "attention.out_lin",
                                       .attention_norm = "sa_layer_norm",
                                       .inner = "ffn.lin1",
                                       .output = "ffn.lin2",
                                       .output_norm = "output_layer_norm"};

void read_bend(Settings& settings, const char* name, EncoderShape& shape) {
  shape.bend = settings.text_or(name, "gelu");
  const auto known = {"gelu", "gelu_new", "gelu_pytorch_tanh", "relu"};
  if (std::ranges::find(known, shape.bend) != known.end()) return;
  settings.fail(
      unimplemented("{}: \"{}\" is not supported; gelu, gelu_new and relu are", name, shape.bend));
}

/// The names of a model's classes say whether it has a head that scores.
bool is_classifier(Settings& settings) {
  const nlohmann::json names = settings.value("architectures");
  if (!names.is_array() || names.empty() || !names.front().is_string()) return false;
  return names.front().get_ref<const std::string&>().ends_with("ForSequenceClassification");
}

/// What a score goes through: sentence-transformers keeps the class of torch that its authors
/// chose, by default the sigmoid of a single label.
void read_score(Settings& settings, EncoderShape& shape) {
  const nlohmann::json labels = settings.value("id2label");
  const std::int64_t count =
      settings.whole_or("num_labels", labels.is_object() ? std::ssize(labels) : 2, 1, kMost);
  if (count != 1) {
    settings.fail(
        unimplemented("a classifier with {} labels; those with one label are supported", count));
  }
  Settings inner = settings.inner("sentence_transformers");
  std::string bend = inner.text_or("activation_fn", "");
  if (bend.empty()) bend = settings.text_or("sbert_ce_default_activation_function", "");
  inner.ignore({"version"});
  settings.fail(inner.finish());
  shape.is_sigmoid = bend.empty() || bend.ends_with(".Sigmoid");
  if (!shape.is_sigmoid && !bend.ends_with(".Identity")) {
    settings.fail(unimplemented("scores through \"{}\" are not supported", bend));
  }
}

/// They say how the model was trained, or what its labels are called.
void ignore_others(Settings& settings) {
  settings.ignore({"attention_probs_dropout_prob",
                   "classifier_dropout",
                   "directionality",
                   "finetuning_task",
                   "gradient_checkpointing",
                   "hidden_dropout_prob",
                   "id2label",
                   "label2id",
                   "output_past",
                   "pooler_fc_size",
                   "pooler_num_attention_heads",
                   "pooler_num_fc_layers",
                   "pooler_size_per_head",
                   "pooler_type",
                   "problem_type",
                   "sbert_ce_default_activation_function",
                   "sentence_transformers",
                   "tie_word_embeddings",
                   "tokenizer_class",
                   "vocab_type_size"});
}

void check_heads(Settings& settings, const EncoderShape& shape) {
  if (shape.heads > 0 && shape.width % shape.heads == 0) return;
  settings.fail(
      invalid_argument("{} numbers cannot be divided into {} heads", shape.width, shape.heads));
}

EncoderShape read_encoder(Settings& settings) {
  EncoderShape shape;
  shape.names = kBertNames;
  shape.vocabulary = settings.whole("vocab_size", 1, kMost);
  shape.width = settings.whole("hidden_size", 1, kMost);
  shape.inner_width = settings.whole("intermediate_size", 1, kMost);
  shape.layers = settings.whole("num_hidden_layers", 1, 1024);
  shape.heads = settings.whole("num_attention_heads", 1, 4096);
  shape.positions = settings.whole("max_position_embeddings", 1, kMost);
  shape.types = settings.whole_or("type_vocab_size", 2, 1, 1024);
  shape.padding = settings.whole_or("pad_token_id", 0, 0, kMost);
  shape.epsilon = static_cast<float>(settings.number_or("layer_norm_eps", 1e-12));
  read_bend(settings, "hidden_act", shape);
  settings.require_text("position_embedding_type", "absolute");
  for (const char* name : {"is_decoder", "add_cross_attention"}) settings.require_flag(name, false);
  check_heads(settings, shape);
  ignore_others(settings);
  return shape;
}

}  // namespace

EncoderShape read_bert(Settings& settings) {
  EncoderShape shape = read_encoder(settings);
  if (!is_classifier(settings)) return shape;
  shape.head = ScoreHead{"bert.pooler.dense", "Tanh", "classifier"};
  read_score(settings, shape);
  return shape;
}

EncoderShape read_roberta(Settings& settings) {
  EncoderShape shape = read_encoder(settings);
  shape.names.prefix = "roberta.";
  // Rows before it belong to padding.
  shape.padding = settings.whole_or("pad_token_id", 1, 0, kMost);
  shape.first_position = shape.padding + 1;
  if (shape.context() < 1) {
    settings.fail(invalid_argument("max_position_embeddings: {} leave no place behind padding",
                                   shape.positions));
  }
  if (!is_classifier(settings)) return shape;
  shape.head = ScoreHead{"classifier.dense", "Tanh", "classifier.out_proj"};
  read_score(settings, shape);
  return shape;
}

EncoderShape read_distilbert(Settings& settings) {
  EncoderShape shape;
  shape.names = kDistilNames;
  shape.vocabulary = settings.whole("vocab_size", 1, kMost);
  shape.width = settings.whole("dim", 1, kMost);
  shape.inner_width = settings.whole("hidden_dim", 1, kMost);
  shape.layers = settings.whole("n_layers", 1, 1024);
  shape.heads = settings.whole("n_heads", 1, 4096);
  shape.positions = settings.whole("max_position_embeddings", 1, kMost);
  shape.padding = settings.whole_or("pad_token_id", 0, 0, kMost);
  read_bend(settings, "activation", shape);
  check_heads(settings, shape);
  ignore_others(settings);
  // The table of positions is in the weights, however it was made.
  settings.ignore(
      {"dropout", "qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_"});
  if (!is_classifier(settings)) return shape;
  shape.head = ScoreHead{"pre_classifier", "Relu", "classifier"};
  read_score(settings, shape);
  return shape;
}

}  // namespace sluice::recipes
