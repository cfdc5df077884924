#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "model/detail/checks.h"
#include "model/template.h"

namespace runnel::model::detail {
namespace {

constexpr std::array<std::string_view, 4> kTaskNames = {kJobIdName, kJobNameName, kTaskIndexName,
                                                        kTaskCountName};

bool has_parameter(const StepSpec& step, std::string_view name) {
  return std::ranges::any_of(step.params, [&](const auto& each) { return each.name == name; });
}

std::vector<std::string_view> parameters_of(const StepSpec& step) {
  std::vector<std::string_view> names;
  names.reserve(step.params.size());
  for (const Parameter& parameter : step.params) names.push_back(parameter.name);
  return names;
}

// Every reference of one step.
class TemplateCheck {
 public:
  TemplateCheck(const Site& at, const JobSpec& spec, const StepSpec& step)
      : at_(at), spec_(spec), step_(step) {}

  void run() const {
    if (const Command* command = step_.command()) check(*command);
    for (const auto& [name, value] : step_.envs) check(at_.at("envs").at(name), value);
    if (step_.checkpoint) check(at_.at("checkpoint").at("dir"), step_.checkpoint->dir);
  }

 private:
  void check(const Command& command) const {
    check(at_.at("run"), command.script);
    for (std::size_t i = 0; i < command.argv.size(); ++i) {
      check(at_.at("command").at(i), command.argv[i]);
    }
  }

  void check(const Site& at, std::string_view text) const {
    for (const TemplatePart& part : scan_template(text)) {
      if (at.full()) return;
      const std::string_view rest = text.substr(part.offset);
      if (part.kind == TemplatePart::Kind::kOpen) {
        const std::string line(rest.substr(0, rest.find('\n')));
        at.refuse("'" + shown(line) + "' is not closed", line,
                  "write {{name}}, or {{{{ for two literal braces");
      } else if (part.kind == TemplatePart::Kind::kName) {
        CHECK(rest.starts_with("{{"), "a name stands in braces");
        check_name(at, part.text, std::string(rest.substr(0, rest.find("}}") + 2)));
      }
    }
  }

  void check_name(const Site& at, std::string_view name, const std::string& written) const {
    if (is_task_name(name) || has_parameter(step_, name)) return;
    if (name.starts_with(kBestPrefix)) return check_best(at, name, written);
    std::vector<std::string_view> names(kTaskNames.begin(), kTaskNames.end());
    for (const std::string_view parameter : parameters_of(step_)) names.push_back(parameter);
    const std::string meant = nearest(name, names);
    at.refuse("'" + shown(written) + "' is not a parameter of this step", written,
              meant.empty() ? "add it to `params`, or write {{{{ for two literal braces; the names "
                              "are " +
                                  listed(names)
                            : "did you mean `{{" + meant + "}}`?");
  }

  // The step must have a search, be over by then, and have the parameter.
  void check_best(const Site& at, std::string_view name, const std::string& written) const {
    const auto refuse = [&](const std::string& message, std::string hint) {
      at.refuse("'" + shown(written) + "' " + message, written, std::move(hint));
    };
    const std::optional<BestName> best = parse_best(name);
    if (!best) return refuse("is not of the form {{best.STEP.PARAMETER}}", "write all three parts");
    const auto step = std::ranges::find(spec_.steps, best->step, &StepSpec::name);
    if (step == spec_.steps.end() || !step->search) {
      return refuse("needs a step with `search` of that name", searched_steps());
    }
    if (!waits_for(static_cast<std::size_t>(step - spec_.steps.begin()))) {
      return refuse("is known only when step '" + shown(step->name) + "' is over",
                    "add it to depends_on");
    }
    if (has_parameter(*step, best->name)) return;
    const std::vector<std::string_view> names = parameters_of(*step);
    const std::string meant = nearest(best->name, names);
    refuse("names no parameter of step '" + shown(step->name) + "'",
           meant.empty() ? "its parameters are " + listed(names) : "did you mean `" + meant + "`?");
  }

  std::string searched_steps() const {
    std::vector<std::string_view> names;
    for (const StepSpec& each : spec_.steps) {
      if (each.search) names.push_back(each.name);
    }
    return names.empty() ? "no step of this file has a search"
                         : "the searches are " + listed(names);
  }

  // Directly or through others: what those wait for is over as well. Cycles end it too.
  bool waits_for(std::size_t step) const {
    std::set<std::size_t> seen;
    std::vector<StepIndex> todo = step_.depends_on;
    while (!todo.empty()) {
      const auto next = static_cast<std::size_t>(todo.back().value());
      todo.pop_back();
      if (next == step) return true;
      if (next >= spec_.steps.size() || !seen.insert(next).second) continue;
      const std::vector<StepIndex>& further = spec_.steps[next].depends_on;
      todo.insert(todo.end(), further.begin(), further.end());
    }
    return false;
  }

  const Site& at_;
  const JobSpec& spec_;
  const StepSpec& step_;
};

}  // namespace

void check_templates(const Site& at, const JobSpec& spec, const StepSpec& step) {
  TemplateCheck(at, spec, step).run();
}

}  // namespace runnel::model::detail
