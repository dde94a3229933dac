#include "det/master/mlflow/search.h"

#include <gtest/gtest.h>

namespace det::master::mlflow {
namespace {

struct Case {
  const char* filter;
  bool found;
};

class MlflowSearch : public ::testing::Test {
 protected:
  MlflowSearch() {
    subject_.params = &params_;
    subject_.tags = &tags_;
    subject_.metrics = &metrics_;
  }
  Words params_{{"lr", "0.1"}, {"model", "Tree"}};
  Words tags_{{"mlflow.user", "anna"}};
  std::map<std::string, Latest> metrics_{{"loss", {0.5, 0, 0}}, {"val acc", {0.9, 0, 0}}};
  Subject subject_{.attributes = {{"run_id", "a1"}, {"status", "FINISHED"}, {"start_time", "1000"}}};
};

TEST_F(MlflowSearch, ARunIsFoundByItsMetricsParamsTagsAndAttributes) {
  const Case cases[] = {
      {"", true},
      {"metrics.loss < 0.6", true},
      {"metrics.loss > 0.6", false},
      {"metrics.`val acc` >= 0.9", true},
      {"metrics.\"val acc\" = 0.9", true},
      {"metrics.missing > 0", false},
      {"params.lr = '0.1' and params.model LIKE 'T%'", true},
      {"params.model LIKE 't%'", false},
      {"params.model ILIKE 't_ee'", true},
      {"params.model != \"Tree\"", false},
      {"tags.`mlflow.user` = 'anna'", true},
      {"tags.mlflow.user = 'anna' AND status = 'FAILED'", false},
      {"attributes.run_id IN ('b2', 'a1')", true},
      {"run_id NOT IN ('a1')", false},
      {"start_time >= 1000", true},
      {"tags.other IS NULL", true},
      {"params.lr IS NOT NULL", true},
  };
  for (const auto& one : cases) {
    const auto conditions = parse_filter(one.filter);
    ASSERT_TRUE(conditions) << one.filter << ": " << conditions.error().message();
    EXPECT_EQ(matches(*conditions, subject_), one.found) << one.filter;
  }
}

TEST_F(MlflowSearch, AWrongFilterIsRefusedWithItsReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"metrics.loss < 'x'", "must be a number"},
      {"params.lr = 0.1", "must be in quotation marks"},
      {"params.lr ~ '0.1'", "is no operator"},
      {"colors.lr = '0.1'", "names begin with metrics."},
      {"params.lr = '0.1", "has no end"},
      {"params.lr = 'a' OR params.lr = 'b'", "joined with AND"},
      {"params.lr = 'a' AND", "is missing after AND"},
      {"run_id IN 'a'", "a list in parentheses"},
  };
  for (const auto& [filter, why] : cases) {
    const auto conditions = parse_filter(filter);
    ASSERT_FALSE(conditions) << filter;
    EXPECT_NE(conditions.error().message().find(why), std::string::npos) << conditions.error().message();
  }
}

TEST_F(MlflowSearch, WhatHasNoValueGoesLastInBothOrders) {
  const std::map<std::string, Latest> worse{{"loss", {0.7, 0, 0}}};
  Subject other = subject_, without = subject_;
  other.metrics = &worse;
  without.metrics = nullptr;
  for (const auto& [text, first] :
       {std::pair{"metrics.loss ASC", true}, std::pair{"metrics.loss desc", false}}) {
    const auto order = parse_order(text);
    ASSERT_TRUE(order);
    EXPECT_EQ(goes_before({*order}, subject_, other), first) << text;
    EXPECT_EQ(goes_before({*order}, other, subject_), !first) << text;
    EXPECT_TRUE(goes_before({*order}, subject_, without)) << text;
    EXPECT_FALSE(goes_before({*order}, without, subject_)) << text;
  }
}

}  // namespace
}  // namespace det::master::mlflow
