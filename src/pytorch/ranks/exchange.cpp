#include "det/pytorch/ranks/exchange.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace det::pytorch {

namespace {

List names_of(const Numbers& numbers) {
  List names;
  for (const auto& [name, value] : numbers) names.emplace_back(name);
  return names;
}

Value values_of(const std::vector<double>& values) {
  auto tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kDouble);
  std::ranges::copy(values, tensor.mutable_data_ptr<double>());
  return tensor;
}

std::vector<double> values_of(const Value& value) {
  const auto& tensor = value.tensor();
  const auto* data = tensor.const_data_ptr<double>();
  return {data, data + tensor.numel()};
}

Dict to_dict(const Numbers& numbers) {
  std::vector<double> values;
  for (const auto& [name, value] : numbers) values.push_back(value);
  Dict dict;
  dict["names"] = names_of(numbers);
  dict["values"] = values_of(values);
  return dict;
}

Numbers to_numbers(const Dict& dict) {
  Numbers numbers;
  const auto values = values_of(dict.at("values"));
  for (const auto& name : dict.at("names").list()) numbers.emplace_back(name.text(), values[numbers.size()]);
  return numbers;
}

List exchanged(const Value& mine, Ranks& ranks, const char* what) {
  List all;
  for (const auto& bytes : ranks.allgather(to_bytes(mine), what)) all.push_back(from_bytes(bytes));
  return all;
}

std::string joined(const List& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name.text();
  return text.empty() ? "none" : text;
}

void compare_names(const List& all, const char* method) {
  const auto wanted = joined(all[0].dict().at("names").list());
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (const auto found = joined(all[rank].dict().at("names").list()); found != wanted)
      throw UsageError(
          c10::str(method, " returned the metrics ", found, " on rank ", rank, " and ", wanted,
                   " on rank 0; it must return the same metrics in the same order on every rank"));
}

/// One number that differs where parameters differ in any bit, as good as always.
std::int64_t fingerprint(const TrialContext::Parts& parts) {
  std::uint64_t sum = 0;
  for (const auto& optimizer : parts.optimizers)
    for (const auto& group : optimizer->param_groups())
      for (const auto& parameter : group.params()) {
        const auto here = parameter.detach().to(at::kCPU).contiguous();
        const auto* bytes = static_cast<const unsigned char*>(here.const_data_ptr());
        for (std::size_t i = 0; i < here.nbytes(); ++i) sum = (sum ^ bytes[i]) * 0x100000001b3ULL;  // FNV-1a
      }
  return static_cast<std::int64_t>(sum);
}

}  // namespace

std::vector<std::vector<double>> mean_over_ranks(const Collector& mine, Ranks& ranks) {
  Dict own;
  List names;
  for (const auto& name : mine.names()) names.emplace_back(name);
  std::vector<double> flat;
  for (const auto& row : mine.rows()) flat.insert(flat.end(), row.begin(), row.end());
  own["names"] = std::move(names);
  own["values"] = values_of(flat);
  const auto all = exchanged(own, ranks, "the exchange of training metrics");
  compare_names(all, "train_batch");
  std::vector<double> sums(flat.size(), 0.0);
  for (const auto& one : all) {
    const auto values = values_of(one.dict().at("values"));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }
  auto rows = mine.rows();
  std::size_t at = 0;
  for (auto& row : rows)
    for (auto& value : row) value = sums[at++] / static_cast<double>(all.size());
  return rows;
}

Numbers reduce_over_ranks(const Numbers& mine, const std::vector<Reducer>& reducers, std::int64_t batches,
                          Ranks& ranks) {
  auto own = to_dict(mine);
  own["batches"] = batches;
  const auto all = exchanged(own, ranks, "the exchange of validation metrics");
  compare_names(all, "evaluate_batch");
  std::vector<std::int64_t> counts;
  std::vector<std::vector<double>> by_rank;
  for (const auto& one : all) {
    counts.push_back(one.dict().at("batches").integer());
    by_rank.push_back(values_of(one.dict().at("values")));
  }
  Numbers reduced;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::vector<double> values;
    for (const auto& rank : by_rank) values.push_back(rank[i]);
    reduced.emplace_back(mine[i].first, reduce_ranks(reducers[i], values, counts));
  }
  return reduced;
}

std::optional<Numbers> announce(const std::optional<Numbers>& metrics, Ranks& ranks) {
  const auto bytes = ranks.announce(metrics ? to_bytes(to_dict(*metrics)) : "");
  if (bytes.empty()) return std::nullopt;
  return to_numbers(from_bytes(bytes).dict());
}

void gather_slots(std::vector<std::vector<std::vector<double>>>& by_reducer, Ranks& ranks) {
  List mine;
  for (const auto& slots : by_reducer) mine.push_back(values_of(slots[0]));
  const auto all = exchanged(mine, ranks, "the exchange of reduced metrics");
  for (std::size_t i = 0; i < by_reducer.size(); ++i) {
    by_reducer[i].clear();
    for (const auto& rank : all) by_reducer[i].push_back(values_of(rank.list().at(i)));
  }
}

List gather_states(const TrialContext::Parts& parts, const Dict& mine, Ranks& ranks) {
  Dict sent = mine;
  sent["fingerprint"] = fingerprint(parts);
  List others;
  const auto all = ranks.gather(to_bytes(sent), "the exchange of what is saved");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const auto other = from_bytes(all[rank]).dict();
    if (other.at("fingerprint").integer() != sent.at("fingerprint").integer())
      throw UsageError(
          c10::str("the parameters on rank ", rank,
                   " differ from those on rank 0; step optimizers with context.step_optimizer(), which "
                   "exchanges the gradients"));
    Dict kept;
    for (const auto& [key, value] : other.entries())
      if (key != Dict::Key("fingerprint")) kept[key] = value;
    others.emplace_back(std::move(kept));
  }
  return others;
}

}  // namespace det::pytorch
