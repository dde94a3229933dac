// What people read in the API's document: each route and each parameter is described.

#include <gtest/gtest.h>

#include <set>

#include "det/master/testing.h"

namespace det::master {
namespace {

struct DescribedRoute {
  std::string where;
  json::object operation;
};

std::vector<DescribedRoute> described_routes(const json::object& document) {
  std::vector<DescribedRoute> all;
  for (const auto& [path, verbs] : document.at("paths").as_object())
    for (const auto& [verb, operation] : verbs.as_object())
      all.push_back({std::string(verb) + " " + std::string(path), operation.as_object()});
  return all;
}

using ApiDocument = testing::MasterTest;

TEST_F(ApiDocument, TheSummaryOfEachRouteIsAnImperativeSentence) {
  const std::set<std::string> verbs = {
      "Acknowledge", "Activate", "Add",      "Announce", "Answer",   "Append",  "Archive", "Assign",
      "Bind",        "Cancel",   "Change",   "Compare",  "Continue", "Count",   "Create",  "Delete",
      "Disable",     "Enable",   "Exchange", "Explain",  "Follow",   "Get",     "Kill",    "List",
      "Log",         "Move",     "Pause",    "Pin",      "Preempt",  "Preview", "Publish", "Read",
      "Record",      "Register", "Remove",   "Rename",   "Replace",  "Report",  "Restore", "Resume",
      "Search",      "Send",     "Set",      "Simulate", "Start",    "Store",   "Submit",  "Unarchive",
      "Unpin",       "Wait"};
  for (const auto& [where, operation] : described_routes(master_->openapi())) {
    const std::string summary(operation.at("summary").as_string());
    EXPECT_TRUE(verbs.contains(summary.substr(0, summary.find(' ')))) << where << ": " << summary;
    EXPECT_FALSE(summary.ends_with('.')) << where << ": " << summary;
  }
}

TEST_F(ApiDocument, EachParameterOfARouteIsDescribed) {
  for (const auto& [where, operation] : described_routes(master_->openapi()))
    if (const auto* parameters = operation.if_contains("parameters"))
      for (const auto& parameter : parameters->as_array())
        EXPECT_TRUE(parameter.as_object().contains("description")) << where << ": " << parameter;
}

}  // namespace
}  // namespace det::master
