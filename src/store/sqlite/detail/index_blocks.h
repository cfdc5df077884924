#pragma once

namespace runnel::store::sqlite {

// From here on the index of a write-ahead log (log-shm) keeps its blocks when SQLite empties it: it
// is filled with zeros in its length, where SQLite would cut it. A log that is opened on a full
// disk would not get them back.
//
// Contract: for all of the process, once; called before any database is opened. Where the zeros
//           cannot be written the file is cut.
// Why:      SQLite empties the index at the first opening of a log. Zeros say what an empty index
//           says, that the write-ahead log is to be read: https://sqlite.org/walformat.html,
//           section 2.1. xSetSystemCall is how SQLite lets a program stand in for such a call.
void keep_index_blocks();

}  // namespace runnel::store::sqlite
