#pragma once

namespace runnel::env {

// Gives every signal its default effect, those that the C library keeps for itself included: it
// refuses signal() on them, and yet posix_spawn() of a parent with threads leaves them ignored in
// this process and in all that it starts. For any thread; safe between fork and exec.
void restore_default_signals();

}  // namespace runnel::env
