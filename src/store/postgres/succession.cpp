#include "det/store/postgres/succession.h"

namespace det::store {

bool Successor::saw(const Beats& now_seen, SteadyTime now) {
  if (now_seen == seen_) return false;
  seen_ = now_seen;
  since_ = now;
  return true;
}

Resumption resumption(bool has_lock, std::int64_t own_epoch, std::int64_t stored_epoch) {
  if (stored_epoch != own_epoch) return Resumption::Deposed;
  return has_lock ? Resumption::Leads : Resumption::Waits;
}

}  // namespace det::store
