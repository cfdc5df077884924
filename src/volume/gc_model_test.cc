// The protocol of docs/design/volume_gc.md, small and whole: every order of the steps of a few
// processes, with sessions removed at any moment and requests that arrive a second time.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::volume::gc_model {
namespace {

constexpr int kActors = 4;
constexpr int kPacks = 3;     // P0 was there before; the others are the writers'.
constexpr int kVersions = 6;  // Manifests that there may be.
constexpr int kObjects = kPacks + kVersions;
constexpr int kListsMax = 3;
constexpr std::uint8_t kNobody = 15;

using Mask = std::uint16_t;  // Of objects: packs, then manifests.
constexpr Mask bit(int object) { return static_cast<Mask>(1U << static_cast<unsigned>(object)); }
constexpr Mask manifest(int version) { return bit(kPacks + version); }

enum class Role : std::uint8_t { kWriter, kReader, kGc };

// What is left out of the protocol, to see that it is needed.
enum class Broken : std::uint8_t {
  kNothing,
  kBlindSwap,           // gc condemns whatever the head is by now.
  kNoCheck,             // A writer swaps without a look at the list of garbage.
  kLooksForItsSession,  // A writer looks whether its session is there instead.
  kNoSecondLook,        // A reader or writer does not look again after its pin.
  kChunksAreFree,       // gc does not mark what a put may take over.
  kAnyPinIsAlive,       // A session that came back with an earlier pin counts as it did before.
  kBeatSaysMore,        // A beat says that it looked at the list of what the publish has read.
};

struct Version {
  std::uint8_t files = 0;   // Packs that its files need.
  std::uint8_t chunks = 0;  // Packs of which a put over it may take over chunks.
};

struct Head {
  std::uint8_t generation = 0;
  std::uint8_t newest = 0;
  std::uint8_t versions = 1;  // Those that it has.
  std::uint8_t collections = 0;
  bool swept = true;
};

struct Session {
  bool is_there = false;
  bool was_removed = false;  // By somebody else.
  std::uint8_t pin = 0;
  std::uint8_t collections = 0;
};

struct List {
  Mask keys = 0;
  std::uint8_t live = 0;        // Actors,
  std::uint8_t pin[kActors]{};  // and what the session of each pinned.
};

struct Actor {
  std::uint8_t step = 0;
  Head seen;  // The head that it read last.
  std::uint8_t pin = 0;
  std::uint8_t collections = 0;
  std::uint8_t beat = 0;         // Of a writer: 1 when it has read the head, 2 when it is done,
  std::uint8_t beat_lists = 0;   // and how many lists that head counts.
  bool may_come_again = false;   // The request that made its session.
  Session first;                 // What that request says.
  Mask objects = 0;              // Of a gc: what it listed.
  std::uint8_t sessions = 0;     // Of a gc: whose it saw,
  std::uint8_t live = 0;         // which of these count,
  std::uint8_t pins[kActors]{};  // and what each of these pinned.
  Mask pinned = 0;               // Of a gc: what they pin, marked.
};

struct State {
  Head head;
  Mask there = 0;
  std::uint8_t versions = 1;  // Made so far.
  Version version[kVersions];
  std::uint8_t maker[kObjects];
  Session session[kActors];
  List list[kListsMax + 1];
  Actor actor[kActors];
};
static_assert(std::is_trivially_copyable_v<State>);

class Model {
 public:
  Model(std::vector<Role> roles, Broken broken) : roles_(std::move(roles)), broken_(broken) {}

  struct Result {
    std::size_t states = 0;
    int depth = 0;
    std::string violation;  // With the steps that lead there.
  };

  Result run() {
    go(first());
    for (now_ = 0; now_ < nodes_.size() && result_.violation.empty(); ++now_) {
      const State state = nodes_[now_].state;
      for (int actor = 0; actor < count(); ++actor) step(state, actor);
      for (int actor = 0; actor < count(); ++actor) beat(state, actor);
      for (int actor = 0; actor < count(); ++actor) mishap(state, actor);
    }
    result_.states = nodes_.size();
    result_.depth = nodes_.back().depth;
    return result_;
  }

 private:
  int count() const { return static_cast<int>(roles_.size()); }

  // The newest version has no file any more; a put may take over the chunks of P0.
  static State first() {
    State state;
    std::memset(&state, 0, sizeof state);
    state.head = Head();
    state.versions = 1;
    state.version[0] = {0, 1};
    state.there = static_cast<Mask>(bit(0) | manifest(0));
    std::memset(state.maker, kNobody, sizeof state.maker);
    return state;
  }

  void go(const State& state) {
    std::string bytes(sizeof(State), '\0');
    std::memcpy(bytes.data(), &state, sizeof state);
    if (!seen_.insert(std::move(bytes)).second) return;
    const int depth = nodes_.empty() ? 0 : nodes_[now_].depth + 1;
    nodes_.push_back({state, now_, depth});
    if (!result_.violation.empty()) return;
    const char* const what = wrong(state);
    if (what != nullptr) result_.violation = what + told(nodes_.size() - 1);
  }

  // How a state came about: for each step, where all processes stand.
  std::string told(std::size_t at) const {
    const Node& node = nodes_[at];
    std::string text = at == 0 ? "" : told(node.before);
    text += "\n  ";
    for (int actor = 0; actor < count(); ++actor) {
      const Actor& self = node.state.actor[actor];
      text += std::to_string(self.step) + (node.state.session[actor].is_there ? "s " : "- ");
    }
    text += "head " + std::to_string(node.state.head.generation) + " newest " +
            std::to_string(node.state.head.newest) + " versions " +
            std::to_string(node.state.head.versions) + " lists " +
            std::to_string(node.state.head.collections) + " keys " +
            std::to_string(node.state.list[node.state.head.collections].keys) + " there " +
            std::to_string(node.state.there);
    return text;
  }

  // --- What must hold.

  static Mask reach(const State& state, int version, bool with_chunks) {
    const Version& of = state.version[version];
    return static_cast<Mask>(manifest(version) | of.files | (with_chunks ? of.chunks : 0));
  }
  // Null: nothing.
  const char* wrong(const State& state) const {
    for (int version = 0; version < state.versions; ++version) {
      if ((state.head.versions >> version & 1) == 0) continue;
      const Mask needed = reach(state, version, version == state.head.newest);
      if ((needed & ~state.there) != 0) return "a version of the head is not whole";
    }
    for (int actor = 0; actor < count(); ++actor) {
      if (roles_[actor] != Role::kReader || state.actor[actor].step != 3) continue;
      if (state.session[actor].was_removed) continue;
      const Mask needed = reach(state, state.actor[actor].pin, false);
      if ((needed & ~state.there) != 0) return "a version that is read is not whole";
    }
    return nullptr;
  }

  // --- Processes.

  void step(const State& before, int actor) {
    switch (roles_[actor]) {
      case Role::kWriter: return write(before, actor);
      case Role::kReader: return read(before, actor);
      case Role::kGc: return collect(before, actor);
    }
  }

  // Anybody may take anybody for dead, and the request that made a session may arrive again.
  void mishap(const State& before, int actor) {
    if (before.session[actor].is_there && roles_[actor] != Role::kGc) {
      State state = before;
      state.session[actor].is_there = false;
      state.session[actor].was_removed = true;
      go(state);
    }
    if (before.actor[actor].may_come_again) {
      State state = before;
      state.actor[actor].may_come_again = false;
      if (!state.session[actor].is_there) {
        const bool was_removed = state.session[actor].was_removed;
        state.session[actor] = state.actor[actor].first;
        state.session[actor].was_removed = was_removed;
      }
      go(state);
    }
  }

  // Steps 0 to 2 of readers and writers: a session that pins what the head is seen to have.
  void begin(const State& before, int actor, bool wants_newest) {
    State state = before;
    Actor& self = state.actor[actor];
    if (self.step == 0) {
      self.seen = state.head;
      self.step = 1;
      if (wants_newest) return pin(state, actor, state.head.newest);
      for (int version = 0; version < state.versions; ++version) {
        if ((state.head.versions >> version & 1) != 0) pin(state, actor, version);
      }
      return;
    }
    if (self.step == 1) {
      self.collections = self.seen.collections;
      state.session[actor] = {true, false, self.pin, self.collections};
      self.first = state.session[actor];
      self.may_come_again = true;
      self.step = broken_ == Broken::kNoSecondLook ? 3 : 2;
      return go(state);
    }
    const bool holds = (state.head.versions >> self.pin & 1) != 0;
    self.seen = state.head;
    if (!wants_newest && !holds) return end(state, actor);
    const bool is_newest = !wants_newest || self.pin == state.head.newest;
    if (is_newest && self.collections == state.head.collections) {
      self.step = 3;
      return go(state);
    }
    if (wants_newest) self.pin = state.head.newest;
    self.collections = state.head.collections;
    if (!state.session[actor].is_there) return end(state, actor);  // The swap finds nothing.
    state.session[actor].pin = self.pin;
    state.session[actor].collections = self.collections;
    go(state);
  }
  void pin(State state, int actor, int version) {
    state.actor[actor].pin = static_cast<std::uint8_t>(version);
    go(state);
  }
  void end(State state, int actor) {
    state.actor[actor].step = 9;
    state.session[actor].is_there = false;
    go(state);
  }

  void read(const State& before, int actor) {
    const Actor& self = before.actor[actor];
    if (self.step < 3) return begin(before, actor, false);
    if (self.step == 3) end(before, actor);
  }

  // Puts a pack, and publishes a version with it and with what it takes over.
  void write(const State& before, int actor) {
    State state = before;
    Actor& self = state.actor[actor];
    const int pack = 1 + actor;
    switch (self.step) {
      case 0:
      case 1:
      case 2: return begin(before, actor, true);
      case 3:
        state.there |= bit(pack);
        state.maker[pack] = static_cast<std::uint8_t>(actor);
        self.step = 4;
        return go(state);
      case 4:
        if (state.versions == kVersions) return;
        self.seen = state.head;
        self.step = 5;
        return go(state);
      case 5:
        if (!is_fine_by(state, actor, self.seen.collections)) return end(state, actor);
        self.step = 6;
        return go(state);
      case 6: {
        if (state.head.generation != self.seen.generation) {
          self.step = 4;
          return go(state);
        }
        if (state.versions == kVersions) return;
        const Version& newest = before.version[before.head.newest];
        const Mask taken = state.version[self.pin].chunks;
        Version made;
        made.files = static_cast<std::uint8_t>(newest.files | taken | bit(pack));
        made.chunks = static_cast<std::uint8_t>(newest.chunks | bit(pack));
        publish(state, actor, made, false);
        self.step = 7;
        go(state);
        // Or one whose files were removed again, which leaves its chunks to be taken over.
        state = before;
        made.files = newest.files;
        publish(state, actor, made, false);
        state.actor[actor].step = 7;
        return go(state);
      }
      case 7: return end(state, actor);
      default: return;
    }
  }

  // A writer's look at the last of so many lists.
  bool is_fine_by(const State& state, int actor, std::uint8_t lists) const {
    const Actor& self = state.actor[actor];
    if (broken_ == Broken::kNoCheck) return true;
    if (broken_ == Broken::kLooksForItsSession) return state.session[actor].is_there;
    if (lists == self.collections) return true;
    const List& last = state.list[lists];
    if (was_live(last, actor, self.pin)) return true;
    if (lists != self.collections + 1) return false;
    const Mask used =
        static_cast<Mask>(bit(1 + actor) | state.version[self.pin].chunks | manifest(self.pin));
    return (used & last.keys) == 0;
  }

  // Beside the other steps of a writer, once: it reads the head, looks, and says so in the session.
  // Where one gc makes one list there is nothing to be mixed up.
  void beat(const State& before, int actor) {
    const Actor& self = before.actor[actor];
    const bool is_at_work = roles_[actor] == Role::kWriter && self.step >= 3 && self.step <= 6;
    const bool has_two_gcs = std::count(roles_.begin(), roles_.end(), Role::kGc) > 1;
    if (!is_at_work || !has_two_gcs || self.beat == 2) return;
    State state = before;
    Actor& next = state.actor[actor];
    ++next.beat;
    if (self.beat == 0) {
      next.beat_lists = state.head.collections;
      if (next.beat_lists != self.collections) go(state);
      return;
    }
    const bool is_lost =
        !state.session[actor].is_there || !is_fine_by(state, actor, self.beat_lists);
    if (is_lost) return end(state, actor);
    const bool says_more = broken_ == Broken::kBeatSaysMore;
    next.collections =
        says_more ? std::max(self.beat_lists, self.seen.collections) : self.beat_lists;
    state.session[actor].collections = next.collections;
    go(state);
  }

  bool was_live(const List& list, int actor, std::uint8_t pin) const {
    const bool is_pin = list.pin[actor] == pin || broken_ == Broken::kAnyPinIsAlive;
    return (list.live >> actor & 1) != 0 && is_pin;
  }

  static void publish(State& state, int actor, Version version, bool instead) {
    const int made = state.versions++;
    state.version[made] = version;
    state.there |= manifest(made);
    state.maker[kPacks + made] = static_cast<std::uint8_t>(actor);
    if (instead) state.head.versions &= static_cast<std::uint8_t>(~(1U << state.head.newest));
    state.head.versions |= static_cast<std::uint8_t>(1U << made);
    state.head.newest = static_cast<std::uint8_t>(made);
    ++state.head.generation;
  }

  // One run of gc: what is condemned is swept, versions are dropped, or the newest is written anew
  // without chunks that no file needs; then garbage is found, condemned and deleted.
  void collect(const State& before, int actor) {
    State state = before;
    Actor& self = state.actor[actor];
    switch (self.step) {
      case 0:
        self.seen = state.head;
        self.step = state.head.swept ? 1 : 6;
        return go(state);
      case 1: return prepare(before, actor);
      case 2:
      case 3: return list(before, actor);
      case 4: return condemn(before, actor);
      case 6: return sweep(before, actor);
      case 7:
        if (state.head.collections == self.seen.collections && !state.head.swept) {
          state.head.swept = true;
          ++state.head.generation;
        }
        self.step = 8;
        return go(state);
      default: return;
    }
  }

  void prepare(const State& before, int actor) {
    State state = before;
    state.actor[actor].step = 2;
    go(state);
    if (state.head.generation != state.actor[actor].seen.generation) return;
    if (state.head.versions != 1U << state.head.newest) {
      State dropped = state;
      dropped.head.versions = static_cast<std::uint8_t>(1U << dropped.head.newest);
      ++dropped.head.generation;
      dropped.actor[actor].seen = dropped.head;
      go(dropped);
    }
    const Version& newest = state.version[state.head.newest];
    if (newest.chunks != newest.files && state.versions < kVersions) {
      State pruned = state;
      publish(pruned, actor, {newest.files, newest.files}, true);
      pruned.actor[actor].seen = pruned.head;
      go(pruned);
    }
  }

  void list(const State& before, int actor) {
    State state = before;
    Actor& self = state.actor[actor];
    if (self.step == 2) {
      self.objects = state.there;
    } else {
      for (int other = 0; other < count(); ++other) {
        const Session& session = state.session[other];
        if (!session.is_there) continue;
        self.sessions |= static_cast<std::uint8_t>(1U << other);
        self.pinned |= reach(state, session.pin, roles_[other] == Role::kWriter);
        const bool is_later = session.collections == self.seen.collections;
        const List& last = state.list[self.seen.collections];
        if (!is_later && !was_live(last, other, session.pin)) continue;
        self.live |= static_cast<std::uint8_t>(1U << other);
        self.pins[other] = session.pin;
      }
      if (broken_ == Broken::kLooksForItsSession) self.live = self.sessions;
    }
    ++self.step;
    go(state);
  }

  void condemn(const State& before, int actor) {
    State state = before;
    Actor& self = state.actor[actor];
    const bool is_same = state.head.generation == self.seen.generation;
    if (!is_same && broken_ != Broken::kBlindSwap) {
      self = Actor();
      return go(state);
    }
    if (state.head.collections == kListsMax || !state.head.swept) return;
    Mask used = self.pinned;
    for (int version = 0; version < state.versions; ++version) {
      if ((self.seen.versions >> version & 1) == 0) continue;
      const bool is_newest = version == self.seen.newest && broken_ != Broken::kChunksAreFree;
      used |= reach(state, version, is_newest);
    }
    List made;
    made.live = self.live;
    std::copy(std::begin(self.pins), std::end(self.pins), std::begin(made.pin));
    for (int object = 0; object < kObjects; ++object) {
      const std::uint8_t maker = state.maker[object];
      const bool is_live = maker == actor || (maker != kNobody && (self.live >> maker & 1) != 0);
      if ((self.objects & ~used & bit(object)) != 0 && !is_live) made.keys |= bit(object);
    }
    if (made.keys == 0) {
      self.step = 8;
      return go(state);
    }
    ++state.head.collections;
    ++state.head.generation;
    state.head.swept = false;
    state.list[state.head.collections] = made;
    self.seen = state.head;
    self.step = 6;
    go(state);
  }

  // One object of the list at a time; a gc that stopped goes on with its own whatever has happened.
  void sweep(const State& before, int actor) {
    const Mask left =
        static_cast<Mask>(before.list[before.actor[actor].seen.collections].keys & before.there);
    if (left == 0) {
      State state = before;
      state.actor[actor].step = 7;
      return go(state);
    }
    for (int object = 0; object < kObjects; ++object) {
      if ((left & bit(object)) == 0) continue;
      State state = before;
      state.there &= static_cast<Mask>(~bit(object));
      go(state);
    }
  }

  const std::vector<Role> roles_;
  const Broken broken_;
  struct Node {
    State state;
    std::size_t before = 0;
    int depth = 0;
  };
  std::unordered_set<std::string> seen_;
  std::vector<Node> nodes_;  // In the order in which they were found, and are gone on from.
  std::size_t now_ = 0;
  Result result_;
};

Model::Result explore(const std::vector<Role>& roles, Broken broken = Broken::kNothing) {
  return Model(roles, broken).run();
}

constexpr Role kW = Role::kWriter;
constexpr Role kR = Role::kReader;
constexpr Role kG = Role::kGc;

// Those of three processes are 37,000,000 states, 15 GB and two minutes: tools/soak.sh asks for
// them.
bool has_time() { return std::getenv("RUNNEL_MODEL") != nullptr; }

TEST(GcModel, NoStateBreaksAPromise) {
  std::vector<std::vector<Role>> all = {{kW, kG}, {kR, kG}};
  if (has_time()) all = {{kW, kG, kG}, {kW, kR, kG}, {kW, kW, kG}};
  for (const std::vector<Role>& roles : all) {
    const Model::Result result = explore(roles);
    EXPECT_EQ(result.violation, "");
    EXPECT_GT(result.states, 20U);
    std::printf("%zu processes: %zu states, depth %d\n", roles.size(), result.states, result.depth);
  }
}

TEST(GcModel, EachRuleIsNeeded) {
  struct Case {
    Broken broken;
    std::vector<Role> roles;
  };
  std::vector<Case> all = {{Broken::kBlindSwap, {kW, kW, kG}},
                           {Broken::kNoCheck, {kW, kG}},
                           {Broken::kLooksForItsSession, {kW, kG, kG}},
                           {Broken::kNoSecondLook, {kW, kR, kG}},
                           {Broken::kChunksAreFree, {kW, kG}}};
  if (has_time()) {
    all.push_back({Broken::kAnyPinIsAlive, {kW, kW, kG}});
    all.push_back({Broken::kBeatSaysMore, {kW, kG, kG}});
  }
  for (const Case& each : all) {
    EXPECT_NE(explore(each.roles, each.broken).violation, "")
        << "broken " << static_cast<int>(each.broken);
  }
}

}  // namespace
}  // namespace runnel::volume::gc_model
