#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "runner/message.h"

namespace runnel::runner {

struct RecoveryOptions {
  std::string home;
  std::string journal;     // Path.
  std::string boot;        // Boot id of the machine now.
  std::string home_token;  // RUNNEL_ATTEMPT_KEY of any runner of this home starts with it and ".".
  Duration grace = Duration::seconds(2);  // Between TERM and KILL of what a dead runner left.
};

// What a runner finds of the one before it.
struct Recovered {
  std::vector<RankFact> ended;  // All ranks not forgotten: all ended now.
  Incarnation incarnation;      // To go on with; empty: a new one, since something may be lost.
  std::string notice;           // A sentence when something was wrong.
  bool crashed_idle = false;    // The runner before was killed while nothing of its ran.
};

// Reads the journal of the runner before. Attempts with an exit record keep it. What still lives of
// the others is found (by pid and start time, and by RUNNEL_ATTEMPT_KEY in any process of the
// machine), ended and recorded as kRunnerLost. After a reboot no process is touched,
// and none by the journal of another folder, from which the home was copied: it is another home's.
// Where that folder is no more, the home was moved, and its runner ends what it had: it is waited
// for.
//
// Blocks for at most grace plus a few seconds. Only one runner of a home may call it at a time.
Recovered recover(const RecoveryOptions& options);

}  // namespace runnel::runner
