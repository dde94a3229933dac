// Plays the scenarios: what a pool looks like, and below the line what the plan
// must be, all of it. Each is also played with agents and requests in many other
// orders in memory, which must change nothing.
//
//   scheduler  fifo, round_robin, fair_share or priority, then fitting=worst heterogeneous=yes preemption=yes
//                                                         (fifo fitting=best if absent); now=T
//   agents     NAME slots=N zero=N disabled=0,1 enabled=no draining=yes label=L has=gpu:a100,zone:b until=T
//   for=R  NAME … running    NAME slots=N on=AGENT or on=AGENT:0,1 group=G max=N releasing=yes asked=yes
//   request    NAME slots=N group=G max=N priority=N weight=N label=L preemptible=no blocked=A,B single=yes
//              has=gpu:a100 position=N submitted=T requested=T reservation=R   (of running ones likewise)
//              counts=1,2,4: may run on any of them; while it waits, slots is the first
//              resizable=yes: of a running one, may be asked to start again on another number
//   ---
//   start      NAME AGENT:0,1 AGENT:0,1                   (AGENT alone: no slots)
//   preempt    NAME
//   resize     NAME SLOTS
//   wait       NAME reason, word for word

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "det/base/random.h"
#include "det/base/text.h"
#include "det/scheduler/scheduler.h"
#include "det/scheduler/testing.h"

namespace det::scheduler {

void PrintTo(const Placement& placement, std::ostream* out) {
  *out << placement.allocation_id;
  for (const auto& share : placement.shares) {
    *out << " " << share.agent << ":";
    for (const int slot : share.slots) *out << slot << ",";
  }
}

void PrintTo(const Plan::Resize& resize, std::ostream* out) {
  *out << resize.allocation_id << " " << resize.slots;
}

namespace {

struct Scenario {
  Options options;
  std::vector<Agent> agents;
  std::vector<Request> requests;
  std::vector<Placement> start;
  std::vector<std::string> preempt;
  std::vector<Plan::Resize> resize;
  std::map<std::string, std::string> waiting;
};

std::vector<int> numbers(const std::string& text) {
  std::vector<int> all;
  for (const auto& one : split(text, ',')) all.push_back(std::stoi(one));
  return all;
}

Share share(const std::string& text) {
  const auto parts = split(text, ':');
  return {.agent = parts[0], .slots = parts.size() > 1 ? numbers(parts[1]) : std::vector<int>{}};
}

Attributes attributes(const std::string& text) {
  Attributes all;
  for (const auto& one : split(text, ','))
    all.emplace(one.substr(0, one.find(':')), one.substr(one.find(':') + 1));
  return all;
}

class Reader {
 public:
  Scenario read(std::istream& file) {
    for (std::string line; std::getline(file, line);) {
      line = line.substr(0, line.find('#'));
      std::istringstream words(line);
      std::string verb, name;
      if (!(words >> verb)) continue;
      ++time_;
      if (verb == "---") continue;
      if (verb == "scheduler")
        read_scheduler(words);
      else if (verb == "agents")
        read_agents(words);
      else if (verb == "running" || verb == "request")
        read_request(words, verb == "running");
      else if (words >> name; verb == "start")
        read_start(words, name);
      else if (verb == "preempt")
        scenario_.preempt.push_back(name);
      else if (int slots = 0; verb == "resize" && words >> slots)
        scenario_.resize.push_back({.allocation_id = name, .slots = slots});
      else if (verb == "wait")
        scenario_.waiting[name] = trim(line.substr(static_cast<std::size_t>(words.tellg())));
      else
        ADD_FAILURE() << "unknown word: " << line;
    }
    return std::move(scenario_);
  }

 private:
  void read_scheduler(std::istream& words) {
    std::string word;
    words >> word;
    static const std::map<std::string, Policy> kPolicies = {{"fifo", Policy::Fifo},
                                                            {"round_robin", Policy::RoundRobin},
                                                            {"fair_share", Policy::FairShare},
                                                            {"priority", Policy::Priority}};
    scenario_.options.policy = kPolicies.at(word);
    while (words >> word) {
      if (word == "fitting=worst")
        scenario_.options.fitting.fitting = Fitting::Worst;
      else if (word == "heterogeneous=yes")
        scenario_.options.fitting.heterogeneous = true;
      else if (word.starts_with("now="))
        scenario_.options.fitting.now = {std::stoi(word.substr(4))};
      else if (word == "preemption=yes")
        scenario_.options.preemption = true;
      else
        ADD_FAILURE() << "unknown option: " << word;
    }
  }

  void read_agents(std::istream& words) {
    for (std::string word; words >> word;) {
      const auto parts = split(word, '=');
      if (parts.size() == 1) {
        scenario_.agents.push_back({.id = word});
        continue;
      }
      auto& agent = scenario_.agents.back();
      if (parts[0] == "slots")
        agent = testing::agent(agent.id, std::stoi(parts[1]));
      else if (parts[0] == "label")
        agent.label = parts[1];
      else if (parts[0] == "has")
        agent.attributes = attributes(parts[1]);
      else if (parts[0] == "zero")
        agent.zero_slot_max = std::stoi(parts[1]);
      else if (parts[0] == "enabled")
        agent.enabled = parts[1] == "yes";
      else if (parts[0] == "until")
        agent.until = {std::stoi(parts[1])};
      else if (parts[0] == "for")
        agent.reserved_for = parts[1];
      else if (parts[0] == "draining")
        agent.draining = parts[1] == "yes";
      else if (parts[0] == "disabled")
        for (const int slot : numbers(parts[1]))
          agent.slots.at(static_cast<std::size_t>(slot)).enabled = false;
      else
        ADD_FAILURE() << "unknown property of an agent: " << word;
    }
  }

  void read_request(std::istream& words, bool running) {
    std::string word;
    words >> word;
    auto request = testing::request(word, 1);
    request.submitted = request.requested = {time_};
    request.running = running;
    std::string on;
    while (words >> word) {
      const auto parts = split(word, '=');
      const auto& value = parts.at(1);
      if (parts[0] == "slots")
        request.slots = std::stoi(value);
      else if (parts[0] == "counts")
        request.slot_counts = numbers(value);
      else if (parts[0] == "resizable")
        request.resizable = value == "yes";
      else if (parts[0] == "on")
        on = value;
      else if (parts[0] == "group")
        request.group = value;
      else if (parts[0] == "max")
        request.slots_max = std::stoi(value);
      else if (parts[0] == "priority")
        request.priority = std::stoi(value);
      else if (parts[0] == "weight")
        request.weight = std::stod(value);
      else if (parts[0] == "label")
        request.label = value;
      else if (parts[0] == "has")
        request.attributes = attributes(value);
      else if (parts[0] == "preemptible")
        request.preemptible = value == "yes";
      else if (parts[0] == "position")
        request.position = std::stoll(value);
      else if (parts[0] == "blocked")
        for (auto& agent : split(value, ',')) request.blocked_agents.insert(agent);
      else if (parts[0] == "single")
        request.single_agent = value == "yes";
      else if (parts[0] == "releasing")
        request.releasing = value == "yes";
      else if (parts[0] == "asked")
        request.releasing = request.asked = value == "yes";
      else if (parts[0] == "submitted")
        request.submitted = request.requested = {std::stoi(value)};
      else if (parts[0] == "reservation")
        request.reservation = value;
      else if (parts[0] == "requested")
        request.requested = {std::stoi(value)};
      else
        ADD_FAILURE() << "unknown property of a request: " << word;
    }
    if (!running && !request.slot_counts.empty()) request.slots = request.slot_counts.front();
    if (!on.empty()) request.held = {occupy(share(on), request.slots)};
    scenario_.requests.push_back(std::move(request));
  }

  Share occupy(const Share& held, int slots) {
    const auto agent = std::ranges::find(scenario_.agents, held.agent, &Agent::id);
    EXPECT_NE(agent, scenario_.agents.end()) << held.agent << " is not an agent of this scenario";
    Share taken{.agent = held.agent, .slots = {}};
    if (slots == 0) ++agent->zero_slot_running;
    for (auto& slot : agent->slots) {
      const bool named = std::ranges::count(held.slots, slot.id) > 0;
      if (held.slots.empty() ? slots > 0 && !slot.used : named) {
        slot.used = true;
        taken.slots.push_back(slot.id);
        --slots;
      }
    }
    EXPECT_EQ(slots, 0) << "no room on " << held.agent;
    return taken;
  }

  void read_start(std::istream& words, const std::string& name) {
    Placement placement{.allocation_id = name, .shares = {}};
    for (std::string word; words >> word;) placement.shares.push_back(share(word));
    scenario_.start.push_back(std::move(placement));
  }

  Scenario scenario_;
  std::int64_t time_ = 0;
};

template <typename T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
}

class Scenarios : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Scenarios, GoAsWritten) {
  std::ifstream file(GetParam());
  auto scenario = Reader().read(file);
  Random random(1);
  for (int order = 0; order < 20 && !HasFailure(); ++order) {
    const auto plan = make_scheduler(scenario.options)->plan(scenario.agents, scenario.requests);
    EXPECT_THAT(plan.start, ::testing::UnorderedElementsAreArray(scenario.start));
    EXPECT_THAT(plan.preempt, ::testing::UnorderedElementsAreArray(scenario.preempt));
    EXPECT_THAT(plan.resize, ::testing::UnorderedElementsAreArray(scenario.resize));
    EXPECT_THAT(testing::waiting_texts(plan, scenario.requests),
                ::testing::ElementsAreArray(scenario.waiting));
    shuffle(scenario.agents, random);
    shuffle(scenario.requests, random);
  }
}

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DET_SCENARIOS))
    if (entry.path().extension() == ".scenario") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

INSTANTIATE_TEST_SUITE_P(, Scenarios, ::testing::ValuesIn(scenario_files()), [](const auto& info) {
  auto path = std::filesystem::relative(info.param, DET_SCENARIOS);
  auto name = path.replace_extension().string();
  std::ranges::replace(name, '/', '_');
  return name;
});

}  // namespace
}  // namespace det::scheduler
