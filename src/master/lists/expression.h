#pragma once

#include <string>
#include <string_view>

#include "det/master/lists/filter.h"

namespace det::master {

/// What the words of an expression refer to.
struct Speaker {
  std::string me;  ///< the username behind `user = me`
  Time now;        ///< from which `started > 7d` counts back
};

/// A filter as people type it: `lr < 1e-3 and state = RUNNING and (user = me or label = baseline)`.
///
///     expression := condition, joined by `and` and `or` (`and` binds closer), `not`, and parentheses
///     condition  := COLUMN = != < <= > >= VALUE | COLUMN contains VALUE | COLUMN in (VALUE, …)
///                 | COLUMN is empty | COLUMN is not empty | WORD
///
/// A column is one of `id name description label state user pool searcher metric best started ended duration
/// trials progress checkpoints size parent project archived`, a metric (`validation.loss.min`, of the best
/// trial: last, min, max or mean), or a hyperparameter (`hp.lr`, or `lr` where no other column has the name);
/// in backquotes if it has spaces. Values are numbers, words, or texts in quotes; durations `90s 5m 2h 7d`;
/// sizes `10MB 2GiB`; days `2026-03-01`, times of RFC 3339, and durations, which count back from now. A word
/// alone is looked for in names, descriptions, labels and users.
///
/// Errors name what is wrong and the character where it is.
Result<Condition> parse_expression(std::string_view text, const Speaker& speaker);

}  // namespace det::master
