#include "text/jinja/nodes/statements.h"

#include "text/jinja/library/lookup.h"
#include "text/jinja/nodes/loop.h"
#include "text/jinja/values/print.h"

namespace sluice::text::jinja {
namespace {

/// Runs a block with an output of its own, and gives that.
Result<std::string> text_of(const Block& block, Render& render) {
  std::string outer = std::exchange(render.output, {});
  // An error ends the whole rendering, so the depth and the output need no way back on that path.
  SLUICE_TRY(render.work.enter());
  SLUICE_TRY(run(block, render));
  render.work.leave();
  return std::exchange(render.output, std::move(outer));
}

/// Lives as long as the rendering, whose tree and scopes it refers to.
class Macro : public Object {
 public:
  Macro(const MacroNode& node, Render& render)
      : node_(node), render_(render), scope_(render.scope) {}

  std::string_view kind() const override { return "macro"; }
  bool is_callable() const override { return true; }

  Result<Value> call(Call& call) override {
    // The parent of the new scope is that of the definition, not that of the call: a macro sees no
    // variable of its caller. Defaults of parameters are evaluated in the new scope, where a later
    // default may use an earlier parameter.
    const InnerScope inner(render_, scope_);
    for (const auto& [name, fallback] : node_.parameters) {
      Value value;
      if (const Value* given = call.next(name)) {
        value = *given;
      } else if (fallback != nullptr) {
        value = SLUICE_TRY(render_.evaluate(*fallback));
      }
      render_.scope->set(name, std::move(value));
    }
    // Arguments that no parameter took are errors here, before the body writes anything.
    SLUICE_TRY(call.finish());
    std::string text = SLUICE_TRY(text_of(node_.body, render_));
    return Value(std::move(text));
  }

 private:
  const MacroNode& node_;
  Render& render_;
  std::shared_ptr<Scope> scope_;
};

}  // namespace

Result<Flow> run(const Block& block, Render& render) {
  for (const auto& statement : block) {
    // Every statement costs, the empty ones too: a loop over statements without output has an end.
    SLUICE_TRY(render.work.spend(Work::kStepUnits));
    const Flow flow = SLUICE_TRY(statement->run(render));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Status Target::set(Value value, Render& render) const {
  if (!parts.empty()) {
    // Names in a row, `for key, value in pairs`: a tuple is taken apart only if the number of
    // elements is right, as in Python. Targets nest.
    const ListPtr list = SLUICE_TRY(elements_of(value, render.work));
    if (list->items.size() != parts.size()) {
      return invalid_argument("{} names take a list of {} elements", parts.size(),
                              list->items.size());
    }
    for (std::size_t i = 0; i < parts.size(); ++i) SLUICE_TRY(parts[i].set(list->items[i], render));
    return ok_status();
  }
  if (field.empty()) {
    SLUICE_TRY(render.work.spend(Work::kElementUnits));
    render.scope->set(name, std::move(value));
    return ok_status();
  }
  const Value owner = render.find(name);
  // `set x.y = 1` changes an object in place. A namespace alone allows it: all other values are
  // immutable and shared, so a change would be visible through every copy.
  auto* space = dynamic_cast<Namespace*>(owner.object());
  if (space == nullptr)
    return invalid_argument("{} is no namespace, so it has no fields to set", name);
  return space->set(field, std::move(value), render.work);
}

Result<Flow> TextNode::run(Render& render) const {
  SLUICE_TRY(render.write(text));
  return Flow::kNext;
}

Result<Flow> OutputNode::run(Render& render) const {
  const Value shown = SLUICE_TRY(render.evaluate(*value));
  const std::string text = SLUICE_TRY(to_text(shown, render.work));
  SLUICE_TRY(render.write(text));
  return Flow::kNext;
}

Result<Flow> IfNode::run(Render& render) const {
  SLUICE_TRY(render.work.enter());
  // Conditions behind the first true one are not evaluated.
  const Block* taken = &otherwise;
  for (const auto& [condition, block] : branches) {
    const Value value = SLUICE_TRY(render.evaluate(*condition));
    if (!value.is_true()) continue;
    taken = &block;
    break;
  }
  const Flow flow = SLUICE_TRY(jinja::run(*taken, render));
  render.work.leave();
  return flow;
}

/// The elements that fulfil `for x in list if condition`. The filter runs before the loop, because
/// loop.length and loop.last count the chosen elements alone.
Result<ListPtr> ForNode::chosen(Render& render) const {
  const Value value = SLUICE_TRY(render.evaluate(*list));
  ListPtr items = SLUICE_TRY(elements_of(value, render.work));
  if (condition == nullptr) return items;
  std::vector<Value> kept;
  for (const Value& item : items->items) {
    // The condition sees the loop's target, but what it sets is gone with the scope of the element.
    const InnerScope inner(render);
    SLUICE_TRY(target.set(item, render));
    const Value fits = SLUICE_TRY(render.evaluate(*condition));
    if (fits.is_true()) kept.push_back(item);
  }
  const Value filtered = SLUICE_TRY(make_list(std::move(kept), render.work));
  return std::get<ListPtr>(filtered.variant());
}

Result<Flow> ForNode::run(Render& render) const {
  SLUICE_TRY(render.work.enter());
  const ListPtr items = SLUICE_TRY(chosen(render));
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    // Each turn has a scope of its own: a variable that the body sets does not reach the next turn,
    // nor the code behind the loop. Jinja's templates use a namespace for that.
    const InnerScope inner(render);
    SLUICE_TRY(render.work.spend(Work::kElementUnits));
    render.scope->set("loop", ObjectPtr(std::make_shared<Loop>(items, i)));
    SLUICE_TRY(target.set(items->items[i], render));
    if (SLUICE_TRY(jinja::run(body, render)) == Flow::kBreak) break;
  }
  if (items->items.empty()) {
    // The `else` of a loop runs if there was no element; `break` does not lead there.
    const InnerScope inner(render);
    SLUICE_TRY(jinja::run(otherwise, render));
  }
  render.work.leave();
  return Flow::kNext;
}

Result<Flow> SetNode::run(Render& render) const {
  Value given = SLUICE_TRY(render.evaluate(*value));
  SLUICE_TRY(target.set(std::move(given), render));
  return Flow::kNext;
}

Result<Flow> SetBlockNode::run(Render& render) const {
  std::string text;
  {
    const InnerScope inner(render);
    // The target is set outside of the block's scope, so that the name lives on behind `endset`.
    text = SLUICE_TRY(text_of(body, render));
  }
  SLUICE_TRY(target.set(Value(std::move(text)), render));
  return Flow::kNext;
}

Result<Flow> MacroNode::run(Render& render) const {
  // A definition takes an object and an entry of the scope. A loop may define a macro in each turn.
  SLUICE_TRY(render.work.spend(2 * Work::kElementUnits));
  render.scope->set(name, ObjectPtr(std::make_shared<Macro>(*this, render)));
  return Flow::kNext;
}

Result<Flow> FlowNode::run(Render& /*render*/) const { return flow; }

}  // namespace sluice::text::jinja
