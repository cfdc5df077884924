#include "writing/testing/random_record.h"

#include <string>
#include <utility>
#include <vector>

namespace runnel::writing::testing {
namespace {

std::uint64_t number(SplitMix64& dice) { return dice.next() >> (dice.next() % 64); }
bool coin(SplitMix64& dice) { return dice.next() % 2 == 0; }
std::optional<std::uint32_t> maybe(SplitMix64& dice) {
  return coin(dice) ? std::optional(static_cast<std::uint32_t>(dice.next())) : std::nullopt;
}

std::string text(SplitMix64& dice, std::size_t bytes_max) {
  std::string bytes(dice.next() % (bytes_max + 1), '\0');
  for (char& each : bytes) each = static_cast<char>(dice.next());
  return bytes;
}

Moment moment(SplitMix64& dice) {
  return {static_cast<std::int64_t>(dice.next()), static_cast<std::uint32_t>(dice.next())};
}

std::optional<Moment> maybe_moment(SplitMix64& dice) {
  return coin(dice) ? std::optional(moment(dice)) : std::nullopt;
}

volume::NodeKind kind(SplitMix64& dice) {
  return static_cast<volume::NodeKind>(1 + dice.next() % 3);
}

Place place(SplitMix64& dice) { return {number(dice), text(dice, 255)}; }
std::vector<Place> places(SplitMix64& dice) {
  std::vector<Place> all(dice.next() % 3);
  for (Place& each : all) each = place(dice);
  return all;
}
DataPlace data_place(SplitMix64& dice) {
  return {{static_cast<DataFile::Kind>(1 + dice.next() % 2), number(dice)}, number(dice)};
}

// All but the log's own, by their places in Change.
Change change(SplitMix64& dice) {
  static_assert(std::variant_size_v<Change> == 18, "each has its line here");
  switch (dice.next() % (std::variant_size_v<Change> - 1)) {
    case 0: return Based{text(dice, 16)};
    case 1:
      return Adopt{
          number(dice),    kind(dice),   coin(dice),   static_cast<std::uint32_t>(dice.next()),
          maybe(dice),     maybe(dice),  places(dice), number(dice),
          text(dice, 100), moment(dice), moment(dice), moment(dice),
          text(dice, 16)};
    case 2: return AdoptName{place(dice), number(dice)};
    case 3:
      return Create{
          place(dice), number(dice), kind(dice),      static_cast<std::uint32_t>(dice.next()),
          maybe(dice), maybe(dice),  text(dice, 100), moment(dice)};
    case 4: return Write{number(dice), number(dice), moment(dice), text(dice, 2'000)};
    case 5:
      return WriteStaged{number(dice), number(dice), number(dice), data_place(dice), moment(dice)};
    case 6: return Truncate{number(dice), number(dice), moment(dice)};
    case 7:
      return Rename{place(dice), place(dice), number(dice), number(dice), coin(dice), moment(dice)};
    case 8: return Link{number(dice), place(dice), moment(dice)};
    case 9: return Unlink{place(dice), number(dice), moment(dice)};
    case 10:
      return SetAttributes{number(dice),       maybe(dice),        maybe(dice), maybe(dice),
                           maybe_moment(dice), maybe_moment(dice), moment(dice)};
    case 11: return Commit{number(dice)};
    case 12: return Closed{number(dice)};
    case 13: return Answered{number(dice)};
    case 14: return Barrier{number(dice)};
    case 15: return Publishing{number(dice), text(dice, 16)};
    default: return Published{number(dice), text(dice, 16)};
  }
}

}  // namespace

Record random_record(SplitMix64& dice) {
  Record record;
  record.request = {number(dice), number(dice)};
  record.change = change(dice);
  return record;
}

}  // namespace runnel::writing::testing
