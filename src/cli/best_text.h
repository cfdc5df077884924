#pragma once

#include <string>

#include "json/value.h"

namespace runnel::cli {

// Whether the step is a search for one thing, and so has one best trial. One of several objectives
// has a front of trials that no other beats in all of them.
bool has_one_best(const json::Value& search);

// Of a step's document: "best of search: trial 3, accuracy=0.91 with lr=0.01 width=64"; empty while
// there is none.
std::string best_line(const json::Value& step);

// "best accuracy=0.91 (trial 3)", for a line beside others.
std::string best_so_far(const json::Value& step);

}  // namespace runnel::cli
