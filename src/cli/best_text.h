#pragma once

#include <string>

#include "json/value.h"

namespace runnel::cli {

// Whether the step is a search for one thing, and so has one best trial. One of several objectives
// has a front of trials that no other beats in all of them.
bool has_one_best(const json::Value& search);

// From a step's document: "best of search: trial 3, accuracy=0.91 with lr=0.01 width=64", or, while
// no trial has ended with a value, the best so far; empty before any has reported.
std::string best_line(const json::Value& step);

// "best accuracy=0.91 (trial 3)" or "best so far ...", for a line beside others.
std::string short_best(const json::Value& step);

// The best trial so far, which has not ended: "accuracy=0.91 (trial 3, step 8, paused)".
std::string leader_text(const json::Value& leader);

}  // namespace runnel::cli
