#include "model/quarantine.h"

#include <string>

#include <gtest/gtest.h>

#include "model/codec.h"
#include "model/input.h"

namespace runnel::model {
namespace {

NodeReport report_with(std::optional<DeviceReport> devices) {
  NodeReport report{NodeId("gpu"), Incarnation("1"), {}};
  report.devices = std::move(devices);
  return report;
}

Result<Input> read(const std::string& text) { return decode_input(MUST(json::parse(text))); }

// A look that found all of them is not the same as none.
TEST(DeviceReport, SaysWhetherAnybodyLooked) {
  const std::string never = encode_text(Input(report_with({})));
  const std::string all_there = encode_text(Input(report_with(DeviceReport())));
  EXPECT_EQ(never.find("devices"), std::string::npos);
  EXPECT_NE(all_there.find("\"devices\":{}"), std::string::npos);
  EXPECT_FALSE(std::get<NodeReport>(read(never).value()).devices.has_value());
  EXPECT_TRUE(std::get<NodeReport>(read(all_there).value()).devices.has_value());
}

TEST(DeviceReport, ComesBackAsItWas) {
  DeviceReport report;
  report.missing.push_back({"H100", 3, "GPU is lost", Time::from_millis(7)});
  report.missing.push_back({"L4", 0, "", {}});
  const Input input = report_with(report);
  EXPECT_EQ(std::get<NodeReport>(read(encode_text(input)).value()).devices, report);
}

TEST(DeviceReport, OfADeviceThatNoNodeCanHaveIsRefused) {
  const auto with_index = [](const std::string& index) {
    return R"({"devices":{"missing":[{"index":)" + index +
           R"(,"kind":"H100"}]},"incarnation":"1","node":"gpu","type":"node.report"})";
  };
  EXPECT_TRUE(read(with_index("999999")).ok());
  EXPECT_FALSE(read(with_index("1000000")).ok());
  EXPECT_FALSE(read(with_index("-1")).ok());
}

TEST(DevicesQuarantined, TellsWhatIsBackFromWhatIsMissing) {
  DevicesQuarantined event{NodeId("gpu"), {}};
  event.devices.push_back({"H100", 1, "gone", Time::from_millis(1), {}});
  event.devices.push_back({"H100", 2, "gone", Time::from_millis(1), Time::from_millis(9)});
  const std::string text = encode_text(Event(event));
  const Event again = decode_event(MUST(json::parse(text))).value();
  EXPECT_EQ(std::get<DevicesQuarantined>(again), event);
  EXPECT_EQ(text.find("again_at"), text.rfind("again_at"));
}

}  // namespace
}  // namespace runnel::model
