#pragma once

#include "model/input.h"
#include "store/event_log.h"

namespace runnel::control {

// What an input may use of a full disk, and with that what becomes of it there:
//
//   kHeld      It tells what has happened, and nobody would say it again: it is decided again until
//              it is kept.
//   kReserve   It frees room: it waits while the log is being opened anew, and is tried twice.
//   kOrdinary  It is refused at once, with the remedy.
store::Room room_of(const model::Input& input);

}  // namespace runnel::control
