#include "cli/pages.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cli/print.h"
#include "cli/target.h"
#include "control/api/query.h"

namespace runnel::cli {
namespace {

constexpr std::string_view kToken = "next_page_token";

}  // namespace

Result<json::Value> read_pages(Session& session, const std::string& target, const std::string& key,
                               std::int64_t limit) {
  CHECK(limit > 0, "a list without room for a row");
  json::Value::List rows;
  std::string token;
  do {
    const std::int64_t left = limit - std::ssize(rows);
    std::string page_target =
        with_query(target, "limit", std::to_string(std::min(left, control::kPageMax)));
    if (!token.empty()) page_target = with_query(std::move(page_target), "page_token", token);
    const json::Value page = TRY(session.get(page_target));
    const json::Value* list = page.find(key);
    if (list == nullptr || !list->is_list()) {
      return Error(Errc::kInternal, "the daemon's answer has no list of " + key)
          .with_value(page_target)
          .with_hint("see " + session.home().daemon_log());
    }
    rows.insert(rows.end(), list->as_list().begin(), list->as_list().end());
    token = text_of(page, kToken);
  } while (!token.empty() && std::ssize(rows) < limit);
  json::Value pages = json::Value::object();
  pages.set(key, json::Value::list(std::move(rows)));
  if (!token.empty()) pages.set(std::string(kToken), json::Value::text(token));
  return pages;
}

void tell_of_more(const json::Value& pages, std::int64_t limit) {
  if (text_of(pages, kToken).empty()) return;
  say("runnel: showing " + std::to_string(limit) + " rows; use --limit N");
}

}  // namespace runnel::cli
