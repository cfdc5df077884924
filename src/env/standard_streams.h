#pragma once

namespace runnel::env {

// Opens the null device as each of standard input, output and error that is closed. The first thing
// a program does: the next file that it opens would take the free number, and what is said to
// standard error would be written into it.
void open_standard_streams();

}  // namespace runnel::env
