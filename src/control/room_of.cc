#include "control/room_of.h"

namespace runnel::control {
namespace {

using store::Room;

Room room_of_verb(model::JobRequest::Verb verb) {
  switch (verb) {
    case model::JobRequest::Verb::kCancel:
    case model::JobRequest::Verb::kHalt:
    case model::JobRequest::Verb::kDelete: return Room::kReserve;
    case model::JobRequest::Verb::kResume:
    case model::JobRequest::Verb::kRetry: break;
  }
  return Room::kOrdinary;
}

struct RoomOf {
  Room operator()(const model::JobRequest& request) const { return room_of_verb(request.verb); }
  Room operator()(const model::NodeJoin& /*join*/) const { return Room::kHeld; }
  Room operator()(const model::NodeReport& /*report*/) const { return Room::kHeld; }
  Room operator()(const model::NodeLost& /*lost*/) const { return Room::kHeld; }
  Room operator()(const model::NodesDeclared& /*declared*/) const { return Room::kHeld; }
  Room operator()(const model::Recovered& /*recovered*/) const { return Room::kHeld; }
  Room operator()(const model::Submit& /*submit*/) const { return Room::kOrdinary; }
  Room operator()(const model::Wake& /*wake*/) const { return Room::kOrdinary; }
  Room operator()(const model::NodeNotice& /*notice*/) const { return Room::kOrdinary; }
  Room operator()(const model::TrialCall& /*call*/) const { return Room::kOrdinary; }
};

}  // namespace

Room room_of(const model::Input& input) { return std::visit(RoomOf{}, input); }

}  // namespace runnel::control
