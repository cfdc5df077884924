#include "base/agenda.h"

#include <string>

#include <gtest/gtest.h>

namespace runnel {
namespace {

constexpr Time kStart = Time::from_millis(1'000);

class AgendaTest : public ::testing::Test {
 protected:
  void plan(std::int64_t millis, const std::string& name, std::uint64_t tie = 0) {
    agenda_.at(kStart + Duration::millis(millis), [this, name] { log_ += name; }, tie);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) agenda_.step();
  }

  Agenda agenda_{kStart};
  std::string log_;
};

TEST_F(AgendaTest, TimeGoesToWhatHappensNext) {
  plan(20, "b");
  plan(10, "a");
  EXPECT_EQ(agenda_.now(), kStart);
  steps(1);
  EXPECT_EQ(log_, "a");
  EXPECT_EQ(agenda_.now(), kStart + Duration::millis(10));
  steps(1);
  EXPECT_EQ(log_, "ab");
}

TEST_F(AgendaTest, AtOneMomentTiesDecideAndThenTheOrderOfPlanning) {
  plan(5, "late", 9);
  plan(5, "first");
  plan(5, "second");
  plan(5, "early", 3);
  plan(4, "before", 100);
  steps(5);
  EXPECT_EQ(log_, "beforefirstsecondearlylate");
}

TEST_F(AgendaTest, WhatHappensMayPlanMoreEvenForNow) {
  agenda_.after(Duration::millis(7), [this] {
    log_ += "outer";
    agenda_.after(Duration(), [this] { log_ += "inner"; });
  });
  plan(7, "beside");
  steps(3);
  EXPECT_EQ(log_, "outerbesideinner");
  EXPECT_EQ(agenda_.now(), kStart + Duration::millis(7));
}

TEST_F(AgendaTest, OneWithoutAStartBeginsAtTheSameMomentInEachRun) {
  Agenda any;
  any.after(Duration::millis(3), [] {});
  any.step();
  EXPECT_EQ(any.now(), Agenda::kStart + Duration::millis(3));
}

TEST_F(AgendaTest, ThePastAndAnEmptyAgendaEndTheProcess) {
  plan(10, "a");
  steps(1);
  EXPECT_DEATH(plan(9, "b"), "for the past");
  EXPECT_DEATH(steps(1), "nothing is planned");
}

}  // namespace
}  // namespace runnel
