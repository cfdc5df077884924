#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/interval_set.h"
#include "model/resources.h"

namespace runnel::model {

// Devices of one node: by kind, their indices among the node's devices of that kind, from 0
// (docs/design/devices.md). A kind of which there is none has no entry.
using Devices = std::map<std::string, IntervalSet>;

// The part of the `index`-th of `parts` equal places: the lowest devices are the first place's.
Devices part_of(const Devices& devices, std::int64_t index, std::int64_t parts);

// Whether these are as many of each kind as `amount` asks for.
bool covers(const Devices& devices, const Resources& amount);

// Whether a node with this capacity has each of them.
bool are_within(const Devices& devices, const Resources& capacity);

// How many there are of each kind.
Resources amount_of(const Devices& devices);

bool overlap(const Devices& a, const Devices& b);
void insert(Devices& into, const Devices& devices);
void erase(Devices& from, const Devices& devices);

// "H100:0,1 L4:3": for people.
std::string describe(const Devices& devices);

}  // namespace runnel::model
