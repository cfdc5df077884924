#pragma once

#include "base/units.h"

namespace runnel::env {

// Gives every signal its default effect, those that the C library keeps for itself included: it
// refuses signal() on them, and yet posix_spawn() of a parent with threads leaves them ignored in
// this process and in all that it starts. For any thread; safe between fork and exec.
void restore_default_signals();

// Ends this process after that time, whatever it does and whoever started it lives: for a program
// that asks what may hang.
void end_after(Duration most);

}  // namespace runnel::env
