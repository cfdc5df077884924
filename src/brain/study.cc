#include "brain/study.h"

namespace runnel::brain {

std::vector<TrialReport> Trial::standing_reports() const {
  std::vector<TrialReport> standing;
  std::size_t from = 0;  // What stands before it was of weights that a move gave up.
  std::size_t move = 0;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (; move < moves.size() && moves[move].reports == static_cast<std::int64_t>(i); ++move) {
      from = standing.size();
    }
    while (standing.size() > from && standing.back().at >= reports[i].at) standing.pop_back();
    standing.push_back(reports[i]);
  }
  return standing;
}

}  // namespace runnel::brain
