#include "control/submitted_spec.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/template.h"
#include "spec/names.h"

namespace runnel::control {
namespace {

Error refused(const std::string& field, std::string_view value, std::string message) {
  return Error(Errc::kInvalid, std::move(message)).with_field(field).with_value(std::string(value));
}

bool has_parameter(const model::StepSpec& step, std::string_view name) {
  return std::ranges::any_of(step.params, [&](const auto& each) { return each.name == name; });
}

class StepCheck {
 public:
  StepCheck(const model::JobSpec& spec, std::size_t step)
      : spec_(spec),
        step_(spec.steps.at(step)),
        path_("spec.steps[" + std::to_string(step) + "].") {}

  Result<void> run() const {
    if (!spec::is_step_name(step_.name)) {
      return refused(path_ + "name", step_.name,
                     spec::name_fault(step_.name, "cannot be the name of a step"));
    }
    if (const model::Command* command = step_.command()) {
      TRY(check_text("run", command->script));
      for (const std::string& word : command->argv) TRY(check_text("command", word));
    }
    for (const auto& [name, value] : step_.envs) TRY(check_text("envs." + name, value));
    return check_checkpoint();
  }

 private:
  Result<void> check_text(const std::string& field, std::string_view text) const {
    for (const model::TemplatePart& part : model::scan_template(text)) {
      if (part.kind == model::TemplatePart::Kind::kOpen) {
        return refused(path_ + field, part.text, "a '{{' is not closed")
            .with_hint("write {{name}}, or {{{{ for two literal braces");
      }
      if (part.kind == model::TemplatePart::Kind::kName && !is_known(part.text)) {
        return refused(path_ + field, part.text, "names no parameter of this step")
            .with_hint("add it to params, or write {{{{ for two literal braces");
      }
    }
    return {};
  }

  bool is_known(std::string_view name) const {
    if (model::is_task_name(name) || has_parameter(step_, name)) return true;
    const std::optional<model::BestName> best = model::parse_best(name);
    if (!best) return false;
    return std::ranges::any_of(step_.depends_on, [&](StepIndex need) {
      CHECK(need.value() >= 0, "a step before the first");
      const model::StepSpec& other = spec_.steps.at(static_cast<std::size_t>(need.value()));
      return other.name == best->step && other.search && has_parameter(other, best->name);
    });
  }

  Result<void> check_checkpoint() const {
    if (!step_.checkpoint) return {};
    const std::string& dir = step_.checkpoint->dir;
    TRY(check_text("checkpoint.dir", dir));
    if (model::stays_inside(dir)) return {};
    return refused(path_ + "checkpoint.dir", dir, "must be a folder inside the task's own")
        .with_hint("a relative path without '..'");
  }

  const model::JobSpec& spec_;
  const model::StepSpec& step_;
  const std::string path_;
};

}  // namespace

Result<void> check_submitted(const model::JobSpec& spec) {
  if (!spec::is_name(spec.name)) {
    return refused("spec.name", spec.name,
                   spec::name_fault(spec.name, "cannot be the name of a job"));
  }
  if (!spec.workdir.starts_with('/')) {
    return refused("spec.workdir", spec.workdir, "must be an absolute path");
  }
  for (std::size_t step = 0; step < spec.steps.size(); ++step) {
    TRY(StepCheck(spec, step).run());
  }
  return {};
}

}  // namespace runnel::control
