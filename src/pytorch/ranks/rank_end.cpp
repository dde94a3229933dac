#include "det/pytorch/ranks/rank_end.h"

#include "det/pytorch/engine/failure.h"
#include "det/pytorch/program/output.h"
#include "det/pytorch/ranks/ranks.h"

namespace det::pytorch {

namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

int lost(Watch& watch, std::int64_t rank, std::int64_t size, const std::string& what) {
  watch.follow();
  print_error(fmt::format("rank {} ends because it lost another rank ({})", rank, first_line(what)));
  if (watch.claim("lost", first_line(what))) watch.told(size - 2);
  return kExitFollowed;
}

int failed(Watch& watch, std::int64_t rank, std::int64_t size, const std::string& what) {
  if (!watch.claim("failed", first_line(what))) {
    watch.follow();
    print_error(fmt::format("rank {} failed, too: {}", rank, first_line(what)));
    return kExitFollowed;
  }
  print_error(fmt::format("rank {} of {} failed:", rank, size));
  print_error(what);
  watch.told();
  return 1;
}

}  // namespace

bool first_end(Watch* watch, const std::string& kind, const std::string& text) {
  return watch == nullptr || watch->claim(kind, text);
}

int shared_end(Watch* watch, std::int64_t rank, std::int64_t size, const std::function<int()>& work) {
  if (watch == nullptr) return work();
  try {
    return work();
  } catch (const RankLost& error) {
    return lost(*watch, rank, size, error.what());
  } catch (const StoreLost& error) {
    return lost(*watch, rank, size, error.what());
  } catch (const LoopFailure& failure) {
    if (failure.error.code() != ErrorCode::Gone) return failed(*watch, rank, size, failure.error.message());
    watch->claim("gone", "the master has ended the allocation");
    watch->told();
    throw;
  } catch (...) {
    return failed(*watch, rank, size, current_exception_text());
  }
}

}  // namespace det::pytorch
