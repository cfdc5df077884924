#pragma once

#include "search/random_stream.h"
#include "search/unit_point.h"

namespace runnel::search {

// A point near to two others: intervals, ranges and steps by simulated binary crossover (Deb,
// Agrawal, "Simulated binary crossover for continuous search space", 1995) and polynomial mutation
// (Deb, Goyal 1996); a choice from either parent, or drawn anew. Where neither parent took part in
// an axis it is drawn.
UnitPoint child_of(const Space& space, const UnitPoint& one, const UnitPoint& other,
                   RandomStream& stream);

}  // namespace runnel::search
