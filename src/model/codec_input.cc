#include "model/codec.h"
#include "model/detail/variant_codec.h"
#include "model/spec_records.h"

namespace runnel::model {

template <>
struct Form<TrialCall::Verb> : WordForm<TrialCall::Verb, parse_trial_verb> {};
template <>
struct Form<JobRequest::Verb> : WordForm<JobRequest::Verb, parse_verb> {};

template <>
struct Fields<Submit> {
  static void visit(auto& visit, auto& input) {
    visit("actor", input.actor);
    visit("body_hash", input.body_hash);
    visit("idempotency_key", input.idempotency_key);
    visit("job", input.job, Required());
    visit("owner", input.owner);
    visit("project", input.project, Required());
    visit("queue", input.queue, Required());
    visit("spec", input.spec, Required());
  }
};

template <>
struct Fields<JobRequest> {
  static void visit(auto& visit, auto& input) {
    visit("action", input.verb, Required());
    visit("actor", input.actor);
    visit("job", input.job, Required());
    visit("record", input.record);
  }
};

template <>
struct Fields<TrialCall> {
  static void visit(auto& visit, auto& input) {
    visit("action", input.verb, Required());
    visit("actor", input.actor);
    visit("at", input.at);
    visit("attempt", input.attempt, Number{.fallback = 1});
    visit("end", input.end);
    visit("holder", input.holder);
    visit("job", input.job, Required());
    visit("lease", input.lease);
    visit("message", input.message);
    visit("results", input.values);
    visit("step", input.step);
    visit("trial", input.trial);
  }
};

template <>
struct Fields<NodeJoin> {
  static void visit(auto& visit, auto& input) {
    visit("beside", input.beside);
    visit("crashed_idle", input.crashed_idle);
    visit("devices", input.devices);
    visit("health", input.health);
    visit("incarnation", input.incarnation, Required());
    visit("metrics", input.metrics);
    visit("node", input.node, Required());
    visit("ranks", input.ranks);
  }
};

template <>
struct Fields<NodeLost> {
  static void visit(auto& visit, auto& input) {
    visit("incarnation", input.incarnation, Required());
    visit("node", input.node, Required());
    visit("reason", input.reason);
  }
};

template <>
struct Fields<NodeNotice> {
  static void visit(auto& visit, auto& input) {
    visit("incarnation", input.incarnation, Required());
    visit("leaves_at", input.leaves_at);
    visit("node", input.node, Required());
    visit("reason", input.reason);
  }
};

template <>
struct Fields<NodesDeclared> {
  static void visit(auto& visit, auto& input) { visit("nodes", input.nodes, Required()); }
};

template <>
struct Fields<NodeReport> {
  static void visit(auto& visit, auto& input) {
    visit("devices", input.devices);
    visit("health", input.health);
    visit("incarnation", input.incarnation, Required());
    visit("metrics", input.metrics);
    visit("node", input.node, Required());
    visit("ranks", input.ranks);
  }
};

template <>
struct Fields<Recovered> {
  static void visit(auto&, auto&) {}
};

template <>
struct Fields<Wake> {
  static void visit(auto&, auto&) {}
};

void encode(json::Writer& out, const Input& value) { detail::write_variant(out, value); }

Result<Input> decode_input(const json::Value& value) { return detail::read_variant<Input>(value); }

std::string encode_text(const Input& value) { return detail::text_of(value); }

}  // namespace runnel::model
