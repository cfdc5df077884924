#include "sched/plan.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sched/place.h"
#include "sched/testing/reference_plan.h"

namespace runnel::sched {
namespace {

using testing::Running;

Host host(const std::string& name, std::int64_t cpus, Sharing sharing = Sharing::kOnePlacePerGang) {
  Host made;
  made.id = NodeId(name);
  made.capacity.milli_cpus = cpus * 1000;
  made.free = made.capacity;
  made.sharing = sharing;
  return made;
}

Request request(std::int32_t places, std::int64_t cpus, std::int64_t order = 1,
                std::int64_t lanes = 1) {
  Request made;
  made.key.job_order = order;
  made.places = places;
  made.per_place.milli_cpus = cpus * 1000;
  made.lanes_wanted = lanes;
  return made;
}

model::Resources cpus(std::int64_t count) {
  model::Resources made;
  made.milli_cpus = count * 1000;
  return made;
}

Cluster cluster_of(std::vector<Host> hosts) {
  Cluster cluster;
  for (Host& each : hosts) cluster.join(std::move(each));
  return cluster;
}

LaneEnds ends_of(const std::vector<Running>& running) {
  LaneEnds ends;
  for (const Running& lane : running) {
    ends.emplace(LaneEndKey{lane.by, lane.node, std::ssize(ends)}, lane.amount);
  }
  return ends;
}

Plan plan_of(const Cluster& cluster, const std::vector<Request>& queue, Time now = Time(),
             const std::vector<Running>& running = {}) {
  const LaneEnds ends = ends_of(running);
  return plan({&cluster, queue, [&]() -> const LaneEnds& { return ends; }, now});
}

TEST(Place, PacksTheFullestHostThatFits) {
  Cluster cluster = cluster_of({host("a", 8), host("b", 8)});
  model::Resources six;
  six.milli_cpus = 6000;
  cluster.take(NodeId("b"), six);
  EXPECT_EQ(place(request(1, 2), cluster)->at[0].node, NodeId("b"));
  EXPECT_EQ(place(request(1, 3), cluster)->at[0].node, NodeId("a"));
  EXPECT_FALSE(place(request(1, 9), cluster).has_value());
}

TEST(Place, HostsOfOneRunnerAreKeptApartAsOne) {
  Host a = host("a", 1);
  Host b = host("b", 1);
  a.runner = "home";
  b.runner = "home";
  Cluster cluster = cluster_of({a, b});
  Request apart = request(1, 1);
  apart.apart = 7;
  EXPECT_TRUE(place(apart, cluster).has_value());
  model::Resources one;
  one.milli_cpus = 1000;
  cluster.take(NodeId("a"), one);
  EXPECT_FALSE(place(apart, cluster).has_value()) << "what runs on a would be lost with it";
  EXPECT_TRUE(place(request(1, 1), cluster).has_value());
  cluster.set_apart(NodeId("a"), 7);
  EXPECT_TRUE(place(apart, cluster).has_value());
  EXPECT_FALSE(place(request(1, 1), cluster).has_value());
  cluster.give_back(NodeId("a"), one);
  EXPECT_TRUE(place(request(1, 1), cluster).has_value());
}

TEST(Plan, WhoIsTriedApartWaitsForANodeThatLeavesAndIsKeptRoomMeanwhile) {
  Host a = host("a", 1);
  a.runner = "home";
  Cluster cluster = cluster_of({a});
  cluster.hold(NodeId("b"), "home", 0, 1);
  model::Resources one;
  one.milli_cpus = 1000;
  Request apart = request(1, 1);
  apart.apart = 7;
  apart.patience = Duration();
  const Plan made = plan_of(cluster, {apart, request(1, 1, 2)}, Time(), {{NodeId("b"), one, {}}});
  EXPECT_TRUE(made.grants.empty()) << "younger work on a would keep the runner busy";
  cluster.give_back(NodeId("b"), one);
  EXPECT_TRUE(place(apart, cluster).has_value());
}

TEST(Place, DevicesThatAreNotGrantedMakeNoHostBusy) {
  Host a = host("a", 1);
  a.runner = "home";
  a.capacity.accelerators["H100"] = 2;
  a.withheld = true;
  Request apart = request(1, 1);
  apart.apart = 7;
  EXPECT_TRUE(place(apart, cluster_of({a})).has_value());
}

TEST(Plan, WhoeverIsTriedApartGetsTheWholeRunner) {
  Host a = host("a", 2);
  Host b = host("b", 1);
  a.runner = "home";
  b.runner = "home";
  Cluster cluster = cluster_of({a, b});
  model::Resources two;
  two.milli_cpus = 2000;
  cluster.take(NodeId("a"), two);
  Request apart = request(1, 2);
  apart.apart = 7;
  apart.patience = Duration();
  const Plan made = plan_of(cluster, {apart, request(1, 1, 2)}, Time(), {{NodeId("a"), two, {}}});
  EXPECT_TRUE(made.grants.empty()) << "younger work on b would keep the runner busy";
}

TEST(Place, SpotHostsAreForThoseThatMayUseThemAndPreferThem) {
  Host cheap = host("a", 8);
  cheap.tenure = Tenure::kSpot;
  const Cluster both = cluster_of({cheap, host("b", 2)});
  Request wary = request(1, 2);
  EXPECT_EQ(place(wary, both)->at[0].node, NodeId("b"));
  EXPECT_FALSE(could_hold(wary, cheap));
  EXPECT_FALSE(feasible(request(1, 8), both));
  Request bold = request(2, 2);
  bold.spot_use = SpotUse::kPreferred;
  const auto placed = place(bold, both);
  ASSERT_EQ(placed->at.size(), 2U);
  EXPECT_EQ(placed->at[0].node, NodeId("a")) << "first the cheap one, though the other is fuller";
  EXPECT_EQ(placed->at[1].node, NodeId("b")) << "and the rest where there is room";
}

TEST(Place, AGangTakesAllItsPlacesOrNone) {
  const Cluster cluster = cluster_of({host("a", 2), host("b", 2), host("c", 1)});
  EXPECT_EQ(place(request(2, 2), cluster)->at.size(), 2U);
  EXPECT_FALSE(place(request(3, 2), cluster).has_value());
  EXPECT_EQ(place(request(3, 1), cluster)->at.size(), 3U);
}

TEST(Place, OnlyAColocatingHostTakesTwoPlacesOfOneGang) {
  EXPECT_FALSE(place(request(2, 1), cluster_of({host("a", 8)})).has_value());
  const auto shared = place(request(2, 1), cluster_of({host("a", 8, Sharing::kColocate)}));
  ASSERT_TRUE(shared.has_value());
  EXPECT_EQ(shared->at[0].places, 2);
}

TEST(Place, AWholeHostRequestNeedsAnEmptyHost) {
  Cluster cluster = cluster_of({host("a", 4)});
  Request whole = request(1, 0);
  whole.cpu_share = CpuShare::kWholeHost;
  EXPECT_EQ(place(whole, cluster)->at[0].per_place.milli_cpus, 4000);
  model::Resources one;
  one.milli_cpus = 1;
  cluster.take(NodeId("a"), one);
  EXPECT_FALSE(place(whole, cluster).has_value());
  EXPECT_TRUE(feasible(whole, cluster));
}

TEST(Place, NamedDevicesMustMatch) {
  Host gpu = host("a", 4);
  gpu.capacity.accelerators["H100"] = 2;
  gpu.free = gpu.capacity;
  const Cluster cluster = cluster_of({gpu});
  Request wants = request(1, 1);
  wants.per_place.accelerators["H100"] = 2;
  EXPECT_TRUE(place(wants, cluster).has_value());
  wants.per_place.accelerators["A100"] = 1;
  EXPECT_FALSE(place(wants, cluster).has_value());
}

TEST(Cluster, RefusesToOversubscribe) {
  Cluster cluster = cluster_of({host("a", 1)});
  model::Resources two;
  two.milli_cpus = 2000;
  EXPECT_DEATH(cluster.take(NodeId("a"), two), "oversubscribed");
}

TEST(Cluster, AHostThatShrankIsFreeWhenItsDebtIsPaid) {
  Host shrunk = host("a", 2);
  model::Resources one;
  one.milli_cpus = 1000;
  shrunk.free = {};
  shrunk.overdrawn = one;  // Three places of one processor each began when it had three.
  Cluster cluster = cluster_of({shrunk});
  cluster.give_back(NodeId("a"), one);
  EXPECT_FALSE(place(request(1, 1), cluster).has_value());
  cluster.give_back(NodeId("a"), one);
  EXPECT_TRUE(place(request(1, 1), cluster).has_value());
  EXPECT_FALSE(place(request(1, 2), cluster).has_value());
  cluster.give_back(NodeId("a"), one);
  EXPECT_EQ(cluster.find(NodeId("a"))->free, cluster.find(NodeId("a"))->capacity);
}

TEST(Plan, OlderFirstThenBackfillWhilePatienceLasts) {
  Cluster cluster = cluster_of({host("a", 2), host("b", 1)});
  std::vector<Request> queue = {request(1, 2, 1), request(2, 1, 2), request(1, 1, 3)};
  const Plan made = plan_of(cluster, queue);
  ASSERT_EQ(made.grants.size(), 2U);
  EXPECT_EQ(made.grants[0].request, 0U);
  EXPECT_EQ(made.grants[1].request, 2U) << "b is free, and the gang has waited for no time";
  EXPECT_EQ(made.blocked, (std::vector<std::size_t>{1}));
}

TEST(Plan, AfterItsPatienceTheHostsAreKeptForTheBlockedGang) {
  Cluster cluster = cluster_of({host("a", 1), host("b", 1)});
  model::Resources one;
  one.milli_cpus = 1000;
  cluster.take(NodeId("a"), one);
  const std::vector<Running> running = {{NodeId("a"), one, std::nullopt}};
  std::vector<Request> queue = {request(2, 1, 1), request(1, 1, 2)};
  const Time late = Time() + kBackfillPatience;
  EXPECT_EQ(plan_of(cluster, queue, Time(), running).grants.size(), 1U);
  EXPECT_EQ(plan_of(cluster, queue, late, running).grants.size(), 0U);
}

// Found by a tester: a step of many tasks took 2 of 3 cpus, and a job of one waited for them all.
TEST(Plan, WhatTheBlockedOneCannotUseIsNotKeptForIt) {
  Cluster cluster = cluster_of({host("a", 3)});
  cluster.take(NodeId("a"), cpus(2));
  const std::vector<Running> running = {{NodeId("a"), cpus(2), std::nullopt}};
  const std::vector<Request> queue = {request(1, 2, 1), request(1, 1, 2)};
  const Plan made = plan_of(cluster, queue, Time() + kBackfillPatience, running);
  ASSERT_EQ(made.grants.size(), 1U);
  EXPECT_EQ(made.grants[0].request, 1U);
}

TEST(Plan, WhatAnEndWouldMakeEnoughIsKept) {
  Cluster cluster = cluster_of({host("a", 4)});
  cluster.take(NodeId("a"), cpus(3));
  const std::vector<Running> running = {{NodeId("a"), cpus(2), std::nullopt},
                                        {NodeId("a"), cpus(1), std::nullopt}};
  const std::vector<Request> queue = {request(1, 2, 1), request(1, 1, 2)};
  EXPECT_TRUE(plan_of(cluster, queue, Time() + kBackfillPatience, running).grants.empty());
}

TEST(Plan, AHostThatIsReadyForAGangKeepsWhatItNeedsAndNoMore) {
  Cluster cluster = cluster_of({host("a", 4), host("b", 4)});
  cluster.take(NodeId("b"), cpus(4));
  const std::vector<Running> running = {{NodeId("b"), cpus(4), std::nullopt}};
  const std::vector<Request> queue = {request(2, 2, 1), request(1, 1, 2, 5)};
  const Plan made = plan_of(cluster, queue, Time() + kBackfillPatience, running);
  EXPECT_EQ(made.grants.size(), 2U) << "of 4 cpus the gang needs 2";
  EXPECT_EQ(made.blocked, (std::vector<std::size_t>{0, 1}));
}

TEST(Plan, AShortRequestMayStillPassWhenItEndsInTime) {
  Cluster cluster = cluster_of({host("a", 1), host("b", 1)});
  model::Resources one;
  one.milli_cpus = 1000;
  cluster.take(NodeId("a"), one);
  const Time late = Time() + kBackfillPatience;
  const std::vector<Running> running = {{NodeId("a"), one, late + Duration::minutes(10)}};
  std::vector<Request> queue = {request(2, 1, 1), request(1, 1, 2)};
  queue[1].limit = Duration::minutes(5);
  EXPECT_EQ(plan_of(cluster, queue, late, running).grants.size(), 1U);
  queue[1].limit = Duration::minutes(11);
  EXPECT_EQ(plan_of(cluster, queue, late, running).grants.size(), 0U);
}

TEST(Plan, LooksAtWhatRunsOnlyWhenABlockedOneMightBePassed) {
  const Cluster cluster = cluster_of({host("a", 1), host("b", 1)});
  int asked = 0;
  const LaneEnds none;
  const auto running = [&]() -> const LaneEnds& {
    ++asked;
    return none;
  };
  const std::vector<Request> fitting = {request(1, 1, 1), request(1, 1, 2)};
  EXPECT_EQ(plan({&cluster, fitting, running, Time()}).grants.size(), 2U);
  EXPECT_EQ(asked, 0);
  const std::vector<Request> blocked = {request(1, 2, 1), request(1, 2, 2)};
  EXPECT_EQ(plan({&cluster, blocked, running, Time()}).blocked.size(), 2U);
  EXPECT_EQ(asked, 0);
  const std::vector<Request> passing = {request(1, 2, 1), request(1, 1, 2)};
  EXPECT_EQ(plan({&cluster, passing, running, Time()}).grants.size(), 1U);
  EXPECT_GT(asked, 0);
}

TEST(Plan, AHopelessRequestHoldsNobodyBack) {
  const Cluster cluster = cluster_of({host("a", 1)});
  std::vector<Request> queue = {request(1, 64, 1), request(1, 1, 2)};
  EXPECT_EQ(plan_of(cluster, queue, Time() + Duration::hours(1)).grants.size(), 1U);
}

// J26: whatever the queue looks like, nothing is granted that does not fit, and gangs are whole.
TEST(Plan, RandomQueuesNeverOversubscribe) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
  };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<Host> hosts;
    for (int each = 0; each < 5; ++each) {
      hosts.push_back(host("n" + std::to_string(each), pick(8),
                           pick(2) == 1 ? Sharing::kColocate : Sharing::kOnePlacePerGang));
    }
    Cluster cluster = cluster_of(hosts);
    std::vector<Request> queue;
    for (int each = 0; each < 6; ++each) {
      queue.push_back(request(static_cast<std::int32_t>(pick(4)), pick(6), each + 1, pick(3)));
    }
    const Plan made = plan_of(cluster, queue, Time::from_millis(pick(120'000)));
    for (const Grant& grant : made.grants) {
      std::int32_t places = 0;
      for (const Placement::At& at : grant.placement.at) {
        cluster.take(at.node, at.per_place.times(at.places));  // CHECKs capacity.
        places += at.places;
      }
      EXPECT_EQ(places, queue[grant.request].places);
    }
  }
}

// The rest to be planned: the cluster and the queue as grants make them.
struct Rest {
  Cluster cluster;
  std::vector<Request> queue;
  std::vector<Running> running;

  Plan plan_at(Time now) const { return plan_of(cluster, queue, now, running); }
  void open(const Plan& made, Time now) {
    for (const Grant& grant : made.grants) {
      Request& request = queue[grant.request];
      --request.lanes_wanted;
      for (const Placement::At& at : grant.placement.at) {
        const model::Resources amount = at.per_place.times(at.places);
        cluster.take(at.node, amount);
        cluster.set_apart(at.node, request.apart);
        running.push_back(
            {at.node, amount,
             request.limit.is_zero() ? std::nullopt : std::optional(now + request.limit)});
      }
    }
    std::erase_if(queue, [](const Request& request) { return request.lanes_wanted == 0; });
  }
  void close_until(Time now) {
    std::erase_if(running, [&](const Running& lane) {
      const bool over = lane.by.has_value() && *lane.by <= now;
      if (over) cluster.give_back(lane.node, lane.amount);
      return over;
    });
  }
};

Rest random_rest(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
  };
  Rest rest;
  for (int each = 0; each < 5; ++each) {
    Host made = host("n" + std::to_string(each), pick(8),
                     pick(2) == 1 ? Sharing::kColocate : Sharing::kOnePlacePerGang);
    if (pick(3) == 1) made.runner = "home";
    rest.cluster.join(std::move(made));
  }
  for (int each = 0; each < 10; ++each) {
    Request made = request(static_cast<std::int32_t>(pick(3)), pick(6), each + 1, pick(3));
    if (pick(2) == 1) made.limit = Duration::seconds(pick(100));
    if (pick(4) == 1) made.apart = each + 1;
    if (pick(4) == 1) made.not_before = Time::from_millis(100'000 + pick(100'000));
    made.patience = Duration::millis(pick(120'000));
    rest.queue.push_back(std::move(made));
  }
  return rest;
}

// Otherwise what is granted would depend on how often, not on when, somebody plans; and who could
// have started would wait for an event that has nothing to do with it.
TEST(Plan, PlannedAgainAtOnceItGrantsNothingMore) {
  std::mt19937_64 random(11);
  int beside_others = 0;
  for (int round = 0; round < 1'000; ++round) {
    Rest rest = random_rest(random);
    for (Time now = Time(); now < Time::from_millis(200'000); now = now + Duration::seconds(20)) {
      rest.close_until(now);
      const Plan made = rest.plan_at(now);
      beside_others += made.grants.empty() || rest.running.empty() ? 0 : 1;
      rest.open(made, now);
      ASSERT_TRUE(rest.plan_at(now).grants.empty()) << "round " << round;
    }
  }
  EXPECT_GT(beside_others, 100);
}

using Picker = std::function<std::int64_t(std::int64_t)>;  // 1 to so many.

model::Resources random_amount(const Picker& pick, std::int64_t cpus) {
  model::Resources amount;
  amount.milli_cpus = (pick(cpus + 1) - 1) * 1000;
  if (pick(3) == 1) amount.memory = Bytes::gibi(pick(8));
  if (pick(4) == 1) amount.accelerators[pick(2) == 1 ? "H100" : "A100"] = pick(4);
  return amount;
}

Request random_request(const Picker& pick, std::int64_t order) {
  Request made = request(static_cast<std::int32_t>(pick(3) == 1 ? pick(5) : 1), 0, order, pick(4));
  made.per_place = random_amount(pick, 6);
  if (pick(8) == 1) made.cpu_share = CpuShare::kWholeHost;
  if (pick(3) == 1) made.spot_use = SpotUse::kPreferred;
  if (pick(2) == 1) made.limit = Duration::seconds(pick(100));
  if (pick(5) == 1) made.apart = pick(2);
  if (pick(6) == 1) made.not_before = Time::from_millis(pick(200'000));
  made.waiting_since = Time::from_millis(pick(100'000));
  made.patience = Duration::millis(pick(120'000));
  return made;
}

Host random_host(const Picker& pick, int number) {
  Host made = host("n" + std::to_string(number), 0,
                   pick(2) == 1 ? Sharing::kColocate : Sharing::kOnePlacePerGang);
  made.capacity = random_amount(pick, 8);
  made.free = made.capacity;
  if (pick(4) == 1) made.tenure = Tenure::kSpot;
  if (pick(2) == 1) made.runner = "runner" + std::to_string(pick(3));
  if (pick(10) == 1) made.overdrawn.milli_cpus = pick(3) * 1000;
  return made;
}

// A question to both planners.
struct Scene {
  testing::ReferenceCluster known;
  std::vector<Request> queue;
  std::vector<Running> running;
  Time now;

  // Lanes that hold some of what the hosts have.
  void fill(const Picker& pick) {
    for (Host& host : known.hosts) {
      const bool apart = pick(4) == 1;
      for (std::int64_t lanes = pick(4) - 1; lanes > 0; --lanes) {
        const model::Resources amount = random_amount(pick, 3);
        if (!amount.fits_in(host.free)) continue;
        host.free.subtract(amount);
        if (apart) host.apart = pick(8) == 1 ? kNobody : 1;
        const auto by =
            pick(3) == 1 ? std::nullopt : std::optional(Time::from_millis(pick(20) * 10'000));
        running.push_back({host.id, amount, by});
      }
      // Nobody knows who has its devices.
      if (pick(10) == 1 && host.free.accelerators == host.capacity.accelerators) {
        host.withheld = true;
        host.free.accelerators.clear();
      }
    }
  }
  void hold(const Picker& pick) {
    const NodeId gone("gone");
    known.held.push_back({gone, "runner" + std::to_string(pick(3)), pick(3) - 1, pick(2)});
    for (std::int64_t lanes = known.held.back().places; lanes > 0; --lanes) {
      running.push_back({gone, random_amount(pick, 3), Time::from_millis(pick(20) * 10'000)});
    }
  }

  Plan planned() const {
    Cluster cluster = cluster_of(known.hosts);
    for (const auto& held : known.held) {
      cluster.hold(held.id, held.runner, held.apart, held.places);
    }
    return plan_of(cluster, queue, now, running);
  }
  Plan by_definition() const { return testing::reference_plan(known, queue, running, now); }
};

Scene random_scene(const Picker& pick) {
  Scene scene;
  for (std::int64_t hosts = pick(8); hosts > 0; --hosts) {
    scene.known.hosts.push_back(random_host(pick, static_cast<int>(hosts)));
  }
  scene.fill(pick);
  if (pick(3) == 1) scene.hold(pick);
  for (std::int64_t each = pick(14); each > 0; --each) {
    scene.queue.push_back(random_request(pick, std::ssize(scene.queue)));
  }
  scene.now = Time::from_millis(pick(200'000));
  return scene;
}

std::string text_of(const Plan& plan) {
  std::string text;
  for (const Grant& grant : plan.grants) {
    text += std::to_string(grant.request) + ":";
    for (const Placement::At& at : grant.placement.at) {
      text +=
          " " + at.node.str() + "*" + std::to_string(at.places) + " of " + at.per_place.describe();
    }
    text += "\n";
  }
  for (const std::size_t blocked : plan.blocked)
    text += "blocked " + std::to_string(blocked) + "\n";
  return text;
}

// The plan is what its plain definition says. RUNNEL_PLANS: so many clusters.
TEST(Plan, EqualsItsDefinitionOnRandomClusters) {
  const char* wanted = std::getenv("RUNNEL_PLANS");
  const std::int64_t scenes = wanted == nullptr ? 5'000 : std::stoll(wanted);
  std::int64_t granted_behind_blocked = 0;
  std::int64_t kept_back = 0;
  for (std::int64_t seed = 1; seed <= scenes; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const Scene scene = random_scene([&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
    });
    const Plan made = scene.planned();
    ASSERT_EQ(text_of(made), text_of(scene.by_definition())) << "seed " << seed;
    if (made.blocked.empty()) continue;
    if (!made.grants.empty() && made.grants.back().request > made.blocked.front()) {
      ++granted_behind_blocked;
    }
    for (const std::size_t blocked : made.blocked) {
      const bool late = scene.queue[blocked].not_before > scene.now;
      kept_back += !late && made.grants.empty() &&
                           place(scene.queue[blocked], cluster_of(scene.known.hosts)).has_value()
                       ? 1
                       : 0;
    }
  }
  EXPECT_GT(granted_behind_blocked, scenes / 20);
  EXPECT_GT(kept_back, scenes / 200);
}

TEST(Plan, TheSameSnapshotGivesTheSamePlan) {
  const Cluster cluster = cluster_of({host("a", 4), host("b", 4), host("c", 4)});
  std::vector<Request> queue = {request(2, 2, 1, 2), request(1, 1, 2, 5)};
  const Plan first = plan_of(cluster, queue);
  const Plan second = plan_of(cluster, queue);
  ASSERT_EQ(first.grants.size(), second.grants.size());
  for (std::size_t each = 0; each < first.grants.size(); ++each) {
    EXPECT_EQ(first.grants[each].placement.at[0].node, second.grants[each].placement.at[0].node);
  }
}

}  // namespace
}  // namespace runnel::sched
