#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>

namespace det::master {

/// A mutex for coroutines of one strand: turns are given one at a time, in the order of asking.
class Turns {
  struct State;

 public:
  /// Holds the turn until it is destroyed.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<State> state) : state_(std::move(state)) {}
    ~Turn() {
      if (state_) state_->next();
    }
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;

   private:
    std::shared_ptr<State> state_;
  };

  std::size_t waiting() const { return state_->waiting.size(); }
  bool idle() const { return !state_->taken; }

  /// Throws as Asio does if the caller is cancelled; its turn then passes to the next one.
  boost::asio::awaitable<Turn> take() {
    const auto state = state_;
    if (!state->taken) {
      state->taken = true;
      co_return Turn(state);
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto place = std::make_shared<Place>(executor);
    state->waiting.push_back(place);
    const Leaving leaving{state, place};
    co_await place->bell.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (!place->called) throw boost::system::system_error(boost::asio::error::operation_aborted);
    place->kept = true;
    co_return Turn(state);
  }

 private:
  struct Place {
    explicit Place(const boost::asio::any_io_executor& executor)
        : bell(executor, boost::asio::steady_timer::time_point::max()) {}
    boost::asio::steady_timer bell;
    bool called = false;  // it is this one's turn
    bool kept = false;    // and it took it
  };
  // Outlives us with the coroutines that wait.
  struct State {
    void next() {
      taken = !waiting.empty();
      if (!taken) return;
      const auto place = waiting.front();
      waiting.pop_front();
      place->called = true;
      place->bell.cancel();
    }

    bool taken = false;
    std::deque<std::shared_ptr<Place>> waiting;
  };
  // Whoever goes without taking its turn does not hold up the others.
  struct Leaving {
    std::shared_ptr<State> state;
    std::shared_ptr<Place> place;
    ~Leaving() {
      if (place->kept) return;
      if (place->called)
        state->next();
      else
        std::erase(state->waiting, place);
    }
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// One sequence of turns for each id. For records that are read, changed and written back as a whole, so that
/// concurrent changes do not overwrite each other.
template <class Key>
class TurnsOf {
 public:
  boost::asio::awaitable<Turns::Turn> take(Key key) {
    if (all_.size() >= kKeptMax) std::erase_if(all_, [](const auto& entry) { return entry.second.idle(); });
    auto turns = all_[key];  // a copy has the same turns
    co_return co_await turns.take();
  }

 private:
  static constexpr std::size_t kKeptMax = 1'000;
  std::map<Key, Turns> all_;
};

}  // namespace det::master
