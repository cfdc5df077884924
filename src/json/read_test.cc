#include "json/read.h"

#include <gtest/gtest.h>

namespace runnel::json {
namespace {

const Value kDocument =
    MUST(parse(R"({"name":"fashion","count":3,"spot":true,"none":null,"items":[1],"inner":{"x":1},)"
               R"("half":0.5})"));

Reader reader(std::string path = "") { return MUST(Reader::of(kDocument, std::move(path))); }

TEST(Reader, ReadsEachKind) {
  Reader in = reader();
  EXPECT_EQ(MUST(in.text("name")), "fashion");
  EXPECT_EQ(MUST(in.integer("count")), 3);
  EXPECT_TRUE(MUST(in.boolean_or("spot", false)));
  EXPECT_EQ(MUST(in.list("items"))->as_list().size(), 1U);
  EXPECT_EQ(MUST(in.object("inner"))->as_object().size(), 1U);
  EXPECT_EQ(in.optional("none"), nullptr);
  EXPECT_EQ(in.optional("half")->as_text(), "0.5");
  EXPECT_TRUE(in.finish().ok());
}

TEST(Reader, TakesTheFallbackForMissingAndNull) {
  Reader in = reader();
  EXPECT_EQ(MUST(in.integer_or("absent", 5)), 5);
  EXPECT_EQ(MUST(in.text_or("none", "default")), "default");
  EXPECT_FALSE(MUST(in.boolean_or("absent", false)));
  EXPECT_EQ(MUST(in.integer_or("count", 5)), 3);
  EXPECT_EQ(MUST(in.text_or("name", "x")), "fashion");
}

TEST(Reader, NamesTheMissingField) {
  Reader in = reader("resources");
  const Error error = in.integer("cpus").error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.to_string(), "resources.cpus: this field is missing; it is an integer");
  EXPECT_FALSE(in.text("none").ok());
}

TEST(Reader, NamesTheFieldOfAnotherKind) {
  Reader in = reader("job");
  EXPECT_EQ(in.integer("name").error().to_string(), "job.name: this must be an integer, not text");
  EXPECT_EQ(in.integer("name").error().value, "fashion");
  EXPECT_EQ(in.text("count").error().value, "3");
  EXPECT_FALSE(in.integer("half").ok());
  EXPECT_FALSE(in.integer_or("name", 1).ok());
  EXPECT_FALSE(in.text_or("count", "").ok());
  EXPECT_FALSE(in.boolean_or("count", true).ok());
  EXPECT_FALSE(in.list("inner").ok());
  EXPECT_FALSE(in.object("items").ok());
}

TEST(Reader, RefusesWhatNobodyAskedFor) {
  Reader in = reader("job");
  for (const char* key : {"names", "count", "spot", "none", "items", "inner", "half"}) {
    (void)in.optional(key);
  }
  const Error error = in.finish().error();
  EXPECT_EQ(error.to_string(), "job.name: there is no such field; did you mean 'names'?");
}

TEST(Reader, ListsTheKnownFieldsWhenNoneIsNear) {
  const Value document = Value::object({{"zzzzzz", Value()}});
  Reader in = MUST(Reader::of(document, ""));
  EXPECT_EQ(in.finish().error().hint, "this object takes no fields");
  (void)in.optional("cpus");
  (void)in.optional("memory");
  EXPECT_EQ(in.finish().error().to_string(),
            "zzzzzz: there is no such field; known fields are cpus, memory");
}

TEST(Reader, ReadsOnlyObjects) {
  const Value list = Value::list();
  EXPECT_EQ(Reader::of(list, "steps").error().to_string(),
            "steps: this must be an object, not a list");
}

TEST(Reader, ShortensLongValuesBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  const Value document = Value::object({{"n", Value::text("x" + text)}});
  Reader in = MUST(Reader::of(document, ""));
  const Error error = in.integer("n").error();
  EXPECT_LT(error.value.size(), 70U);
  EXPECT_TRUE(error.value.ends_with("é..."));
}

// One member of each kind.
const Value kKinds = MUST(
    parse(R"({"bool":true,"decimal":1.5,"int":1,"list":[],"null":null,"object":{},"text":"t"})"));

// Which members a getter takes, and what it says of the others.
template <typename Get>
void expect_takes(const char* only, Get get) {
  for (const auto& [key, member] : kKinds.as_object()) {
    Reader in = MUST(Reader::of(kKinds, "doc"));
    const auto result = get(in, key);
    EXPECT_EQ(result.ok(), key == only) << key;
    if (result.ok()) continue;
    EXPECT_EQ(result.error().code, Errc::kInvalid) << key;
    EXPECT_EQ(result.error().field, "doc." + key);
  }
}

TEST(ReaderMatrix, EachGetterTakesItsKindAlone) {
  expect_takes("int", [](Reader& in, std::string_view key) { return in.integer(key); });
  expect_takes("text", [](Reader& in, std::string_view key) { return in.text(key); });
  expect_takes("list", [](Reader& in, std::string_view key) { return in.list(key); });
  expect_takes("object", [](Reader& in, std::string_view key) { return in.object(key); });
}

TEST(ReaderMatrix, AFallbackIsForTheMissingAndNotForTheWrong) {
  for (const auto& [key, member] : kKinds.as_object()) {
    Reader in = MUST(Reader::of(kKinds, ""));
    EXPECT_EQ(in.integer_or(key, 7).ok(), key == "int" || key == "null") << key;
    EXPECT_EQ(in.text_or(key, "x").ok(), key == "text" || key == "null") << key;
    EXPECT_EQ(in.boolean_or(key, true).ok(), key == "bool" || key == "null") << key;
  }
}

TEST(ReaderMatrix, SaysWhatItFoundInWords) {
  Reader in = MUST(Reader::of(kKinds, ""));
  EXPECT_EQ(in.text("bool").error().message, "this must be text, not true or false");
  EXPECT_EQ(in.text("decimal").error().message, "this must be text, not a number");
  EXPECT_EQ(in.text("int").error().message, "this must be text, not an integer");
  EXPECT_EQ(in.text("list").error().message, "this must be text, not a list");
  EXPECT_EQ(in.text("object").error().message, "this must be text, not an object");
  EXPECT_EQ(in.text("null").error().message, "this field is missing; it is text");
  EXPECT_EQ(in.list("text").error().message, "this must be a list, not text");
}

TEST(Reader, PathsJoinWithDots) {
  EXPECT_EQ(MUST(Reader::of(kKinds, "")).path_of("a"), "a");
  EXPECT_EQ(MUST(Reader::of(kKinds, "a.b")).path_of("c"), "a.b.c");
}

TEST(Reader, NestedReadersNameTheWholePath) {
  const Value document = MUST(parse(R"({"resources":{"memory":{"amount":"x"}}})"));
  Reader outer = MUST(Reader::of(document, ""));
  Reader middle = MUST(Reader::of(*MUST(outer.object("resources")), outer.path_of("resources")));
  Reader inner = MUST(Reader::of(*MUST(middle.object("memory")), middle.path_of("memory")));
  EXPECT_EQ(inner.integer("amount").error().to_string(),
            "resources.memory.amount: this must be an integer, not text");
}

TEST(Reader, AskingTwiceIsFine) {
  Reader in = MUST(Reader::of(kKinds, ""));
  for (const auto& [key, member] : kKinds.as_object()) {
    (void)in.optional(key);
    (void)in.optional(key);
  }
  EXPECT_TRUE(in.finish().ok());
}

TEST(Reader, FinishNamesTheFirstUnknownInOrder) {
  const Value document = MUST(parse(R"({"zeta":1,"alpha":2,"known":3})"));
  Reader in = MUST(Reader::of(document, ""));
  (void)in.integer("known");
  EXPECT_EQ(in.finish().error().field, "alpha");
}

}  // namespace
}  // namespace runnel::json
