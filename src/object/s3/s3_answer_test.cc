#include "object/s3/s3_answer.h"

#include <gtest/gtest.h>

namespace runnel::object {
namespace {

http::Response answer(int status, const std::string& code) {
  http::Response response;
  response.status = status;
  if (!code.empty()) {
    response.body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code></Error>";
  }
  return response;
}

Errc kind(int status, const std::string& code, bool conditional = false) {
  return s3_error(answer(status, code), {"s3://b", "k", conditional}).code;
}

TEST(S3Answer, SaysWhatBecameOfTheRequest) {
  EXPECT_EQ(kind(404, "NoSuchKey"), Errc::kNotFound);
  EXPECT_EQ(kind(404, ""), Errc::kNotFound);
  EXPECT_EQ(kind(404, "XAdminUserNotFound"), Errc::kDenied) << "versitygw of a wrong key id";
  EXPECT_EQ(kind(404, "NoSuchAnything"), Errc::kInvalid) << "the object may be there";
  EXPECT_EQ(kind(404, "NoSuchBucket"), Errc::kInvalid);
  EXPECT_EQ(kind(412, "PreconditionFailed", true), Errc::kPrecondition);
  EXPECT_EQ(kind(409, "ConditionalRequestConflict", true), Errc::kConflict);
  EXPECT_EQ(kind(503, "SlowDown"), Errc::kFull);
  EXPECT_EQ(kind(503, ""), Errc::kFull);
  EXPECT_EQ(kind(500, "InternalError"), Errc::kUnavailable);
  EXPECT_EQ(kind(501, "NotImplemented"), Errc::kUnsupported) << "and will not be in a minute";
  EXPECT_EQ(kind(400, "RequestTimeout"), Errc::kUnavailable) << "a slow network; not our mistake";
  EXPECT_EQ(kind(400, "XAmzContentSHA256Mismatch"), Errc::kConflict) << "not done; again";
  EXPECT_EQ(kind(400, "BadDigest"), Errc::kConflict);
  EXPECT_EQ(kind(400, "InvalidArgument"), Errc::kInvalid);
  EXPECT_EQ(kind(403, "AccessDenied"), Errc::kDenied);
}

TEST(S3Answer, AConditionalPutThatIsBrokenOffMayHaveBeenDone) {
  EXPECT_EQ(kind(503, "SlowDown", true), Errc::kUnavailable);
  EXPECT_EQ(kind(500, "InternalError", true), Errc::kUnavailable);
}

TEST(S3Answer, NamesTheRemedy) {
  http::Response skewed = answer(403, "RequestTimeTooSkewed");
  skewed.headers.add("Date", "Wed, 25 Nov 2026 21:00:00 GMT");
  const std::string text = s3_error(skewed, {"s3://b", "k", false}).to_string();
  EXPECT_NE(text.find("s3://b/k: the clocks of this machine and of the store differ (Wed, 25 Nov"),
            std::string::npos)
      << text;
  http::Response region = answer(301, "PermanentRedirect");
  region.headers.add("x-amz-bucket-region", "eu-central-1");
  EXPECT_NE(s3_error(region, {"s3://b", "", false}).to_string().find("(eu-central-1)"),
            std::string::npos);
}

std::string entry(const std::string& key, const std::string& size) {
  return "<Contents><Key>" + key + "</Key><Size>" + size + "</Size></Contents>";
}
std::string list_of(const std::string& entries, bool truncated = false) {
  return "<?xml version=\"1.0\"?><ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
         "<IsTruncated>" +
         std::string(truncated ? "true" : "false") + "</IsTruncated>" + entries +
         "</ListBucketResult>";
}

TEST(S3Answer, ReadsAList) {
  const ListPage page =
      MUST(parse_list(list_of(entry("p/a", "3") + entry("p/b", "0"), true), "p/"));
  ASSERT_EQ(page.objects.size(), 2U);
  EXPECT_EQ(page.objects[0].key, "a");
  EXPECT_EQ(page.objects[0].size, 3);
  EXPECT_EQ(page.more, "b");
  EXPECT_FALSE(MUST(parse_list(list_of(""), "p/")).more.has_value());
}

TEST(S3Answer, RefusesAListThatDoesNotGoOn) {
  const std::string page = list_of(entry("p/a", "3") + entry("p/b", "0"), true);
  EXPECT_EQ(MUST(parse_list(page, "p/", "a")).more, "b");
  EXPECT_EQ(parse_list(page, "p/", "b").error().code, Errc::kUnsupported);
  EXPECT_EQ(parse_list(page, "p/", "c").error().code, Errc::kUnsupported);
}

TEST(S3Answer, ReadsStampsAndTimesWhereAStoreTellsThem) {
  const std::string told =
      "<Contents><Key>p/a</Key><Size>3</Size><ETag>&quot;abc-2&quot;</ETag>"
      "<LastModified>2026-11-26T15:00:00.250Z</LastModified></Contents>"
      "<Contents><Key>p/b</Key><Size>3</Size><ETag>def</ETag></Contents>"
      "<Contents><Key>p/c</Key><Size>3</Size><ETag>x&#13;&#10;DELETE /p/c</ETag></Contents>";
  const ListPage page = MUST(parse_list(list_of(told), "p/"));
  ASSERT_EQ(page.objects.size(), 3U);
  EXPECT_EQ(page.objects[0].stamp, "abc-2");
  EXPECT_EQ(rfc3339(page.objects[0].changed), "2026-11-26T15:00:00.250Z");
  EXPECT_EQ(page.objects[1].stamp, "def");
  EXPECT_EQ(page.objects[1].changed, Time());
  EXPECT_EQ(page.objects[2].stamp, "");
}

TEST(S3Answer, RefusesWhatIsNoList) {
  for (const std::string& body :
       {std::string("no xml"), std::string("<Other/>"), list_of(entry("q/a", "3")),
        list_of(entry("p/a", "")), list_of(entry("p/a", "-1")), list_of("", true)}) {
    const Result<ListPage> page = parse_list(body, "p/");
    EXPECT_TRUE(!page.ok() && page.error().code == Errc::kCorrupt) << body;
  }
}

}  // namespace
}  // namespace runnel::object
