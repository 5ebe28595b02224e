// Which computes share a kernel.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "spirv/lower/compute.h"
#include "spirv/lower/partition.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/lane_row_rules.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/product_rules.h"

namespace spirograd::lower {
namespace {

// Operations up to which computes of different domains share a dispatch. Drivers deal out workgroups in equal halves, so
// that unequal heavy computes would leave processors idle.
constexpr double kSmall = 1e6;
constexpr size_t kLookBack = 64;  // groups that are asked whether a compute fits; time stays linear in their number

bool writes_to(const Compute& s, uint32_t buffer) {
  return std::find(s.writes.begin(), s.writes.end(), buffer) != s.writes.end();
}

bool reads_from(const Compute& s, std::span<const uint32_t> buffers) {
  return std::any_of(s.reads.begin(), s.reads.end(), [&](const schedule::Read& r) {
    return std::find(buffers.begin(), buffers.end(), r.buffer) != buffers.end();
  });
}

// Whether `s` may run in the kernel of `group`, which computes some of what it reads: at the same points, in the same order.
bool joins(std::span<const Compute> group, const Compute& s) {
  if (s.kind != Compute::Kind::Map) return false;
  for (const schedule::Read& r : s.reads)
    for (const Compute& other : group)
      if (writes_to(other, r.buffer) &&
          (!r.own || other.kind != Compute::Kind::Map || !(other.domain == s.domain) || other.stores[0].axis >= 0))
        return false;
  return true;
}

// Whether neighbours share what they reduce, as in a product.
bool contracts(const Compute& s) {
  const uint32_t all = schedule::long_axes(s.domain);
  return std::any_of(s.reads.begin(), s.reads.end(),
                     [&](const schedule::Read& r) { return r.reduced && r.sums && (r.axes & all) != all; });
}

// Whether two reduce the same elements. Tiles of subgroups and workgroups are made for what one reduction reads; two that
// read nothing in common would only share their registers.
bool reduce_alike(const Compute& a, const Compute& b) {
  return std::any_of(a.reads.begin(), a.reads.end(), [&](const schedule::Read& r) {
    return r.reduced && std::any_of(b.reads.begin(), b.reads.end(), [&](const schedule::Read& other) {
             return other.reduced && other.buffer == r.buffer && other.axes == r.axes && other.last == r.last &&
                    other.along == r.along && other.outer == r.outer;
           });
  });
}

schedule::MapFacts facts_of(const Compute& s, bool alone) {
  return {s.domain, s.reads, s.code, s.reduces, s.reductions, alone, !s.beside.empty(), s.operations, s.symmetric, s.single};
}

// Whether it is the one reduction that a kernel for short products may have.
bool is_short_product(const Compute& s, const Target& target) {
  return s.kind == Compute::Kind::Map && s.reduces && schedule::wants_short_products(facts_of(s, true), target);
}

bool fit_together(const Compute& s, const Compute& other, const Target& target) {
  if (s.alone || other.alone || s.gates != other.gates) return false;
  if (s.reduces && other.reduces && (is_short_product(s, target) || is_short_product(other, target))) return false;
  const bool map = s.kind == Compute::Kind::Map && other.kind == Compute::Kind::Map,
             small = s.work <= kSmall && other.work <= kSmall;
  // Two writers of one buffer are parts of a whole, or additions to one: never both an atomic and a plain store.
  for (uint32_t w : other.writes)
    if (writes_to(s, w) && !map) return false;
  if (s.kind == Compute::Kind::Scatter && reads_from(other, s.writes)) return false;  // another part of the whole
  const bool in_tiles = schedule::tiles_by_lanes(target) || (shares_work(target) && contracts(s));
  if (in_tiles && s.reduces && other.reduces && !small && !reduce_alike(s, other)) return false;
  return small || (map && s.domain == other.domain);
}

size_t buffers(std::span<const Compute> group, std::span<const Compute> more) {
  std::set<uint32_t> all;
  for (const std::span<const Compute> part : {group, more})
    for (const Compute& s : part) {
      for (const schedule::Read& r : s.reads) all.insert(r.buffer);
      all.insert(s.writes.begin(), s.writes.end());
    }
  return all.size();
}

// Whether those that subgroups reduce rows for are no more code together than they may have for that.
bool keep_rows(std::span<const Compute> group, std::span<const Compute> more, const Target& target) {
  std::optional<schedule::MapFacts> all;
  for (const std::span<const Compute> part : {group, more})
    for (const Compute& s : part) {
      if (s.kind != Compute::Kind::Map || !s.reduces) continue;
      const schedule::MapFacts f = facts_of(s, true);
      if (!schedule::wants_lane_rows(f, target)) continue;
      if (!all) {
        all = f;
        continue;
      }
      all->code += f.code;
      all->reads.insert(all->reads.end(), f.reads.begin(), f.reads.end());
      all->reductions.insert(all->reductions.end(), f.reductions.begin(), f.reductions.end());
    }
  return !all || schedule::wants_lane_rows(*all, target);
}

// Whether the computes of two groups, of which the first is there already, may share a kernel.
bool fits_together(std::span<const Compute> group, std::span<const Compute> more, const Target& target) {
  int64_t code = 0;
  for (const Compute& s : group) code += s.code;
  for (const Compute& s : more) {
    code += s.code;
    if (!std::ranges::all_of(group, [&](const Compute& other) { return fit_together(s, other, target); })) return false;
  }
  return code <= schedule::kMergedCode && buffers(group, more) <= kernel_buffers(target) && keep_rows(group, more, target);
}

// Whether one of them makes what the other one reads, or both write to a buffer.
bool in_order(std::span<const Compute> group, std::span<const Compute> other) {
  return std::ranges::any_of(group, [&](const Compute& a) {
    return std::ranges::any_of(other, [&](const Compute& b) {
      return reads_from(a, b.writes) || reads_from(b, a.writes) ||
             std::ranges::any_of(a.writes, [&](uint32_t buffer) { return writes_to(b, buffer); });
    });
  });
}

// A group that fits a later one runs there, if none in between waits for it: the results of a gradient, which become known
// one after the other, are one dispatch at the end.
void postpone(std::vector<std::vector<Compute>>& groups, const Target& target) {
  for (size_t j = groups.size(); j-- > 0;) {
    const std::vector<Compute>& group = groups[j];
    const size_t end = std::min(groups.size(), j + kLookBack);
    for (size_t later = j + 1; later < end && !in_order(group, groups[later]); ++later) {
      if (!fits_together(groups[later], group, target)) continue;
      std::move(groups[j].begin(), groups[j].end(), std::back_inserter(groups[later]));
      groups.erase(groups.begin() + static_cast<ptrdiff_t>(j));
      break;
    }
  }
}

// Whether the computes keep their order if `s` runs where the one at `host` does.
bool may_move(std::span<const Compute> computes, const Compute& s, size_t host) {
  const auto own = static_cast<size_t>(&s - computes.data());
  for (size_t j = 0; j < computes.size(); ++j) {
    const Compute& other = computes[j];
    if (j == own) continue;
    const bool before =
        std::any_of(s.reads.begin(), s.reads.end(), [&](const auto& r) { return writes_to(other, r.buffer); });
    const bool behind =
        std::any_of(other.reads.begin(), other.reads.end(), [&](const auto& r) { return writes_to(s, r.buffer); });
    const bool both = std::any_of(s.writes.begin(), s.writes.end(), [&](uint32_t b) { return writes_to(other, b); });
    const bool passed = std::min(own, host) <= j && j <= std::max(own, host);
    if ((both && passed) || (before && j >= host) || (behind && j <= host)) return false;
  }
  return true;
}

// Puts computes into those in whose loops they may run.
void join_loops(std::vector<Compute>& computes, size_t most_buffers) {
  for (size_t j = computes.size(); j-- > 0;) {
    const Compute& s = computes[j];
    if (!s.within || s.alone) continue;
    const auto is_host = [&](const Compute& c) { return c.kind == Compute::Kind::Map && c.stores[0].value == *s.within; };
    const auto found = std::find_if(computes.begin(), computes.end(), is_host);
    if (found == computes.end()) continue;
    Compute& host = *found;
    if (host.alone || host.gates != s.gates || host.code + s.code > schedule::kMergedCode ||
        buffers({&host, 1}, {&s, 1}) > most_buffers || !may_move(computes, s, static_cast<size_t>(found - computes.begin())))
      continue;
    host.beside.emplace_back(*s.within, s.stores[0]);
    for (schedule::Read r : s.reads) {
      r.own = false, r.reduced = true, r.axes = ~0u, r.last = 0, r.along = false;
      host.reads.push_back(r);
    }
    host.writes.insert(host.writes.end(), s.writes.begin(), s.writes.end());
    host.code += s.code;
    host.work += s.work;
    host.label += "; " + s.label;
    computes.erase(computes.begin() + static_cast<ptrdiff_t>(j));
  }
}

// Map computes of one group with the same domain become one compute with several stores.
std::vector<Compute> merged(std::vector<Compute> group) {
  std::vector<Compute> out;
  for (Compute& s : group) {
    auto twin = std::find_if(out.begin(), out.end(), [&](const Compute& o) {
      return o.kind == Compute::Kind::Map && s.kind == Compute::Kind::Map && o.domain == s.domain;
    });
    if (twin == out.end()) {
      out.push_back(std::move(s));
      continue;
    }
    twin->stores.insert(twin->stores.end(), s.stores.begin(), s.stores.end());
    twin->beside.insert(twin->beside.end(), s.beside.begin(), s.beside.end());
    twin->reads.insert(twin->reads.end(), s.reads.begin(), s.reads.end());
    twin->writes.insert(twin->writes.end(), s.writes.begin(), s.writes.end());
    twin->reductions.insert(twin->reductions.end(), s.reductions.begin(), s.reductions.end());
    twin->operations.insert(twin->operations.end(), s.operations.begin(), s.operations.end());
    if (twin->symmetric != s.symmetric) twin->symmetric.reset();
    twin->code += s.code;
    twin->reduces |= s.reduces;
    twin->work += s.work;
    twin->label += "; " + s.label;
  }
  return out;
}

schedule::MapSchedule scheduled(const Compute& s, bool alone, const Target& target, const schedule::Scheduler& scheduler) {
  const schedule::MapFacts facts = facts_of(s, alone);
  const schedule::MapSchedule chosen = schedule::legal(facts, scheduler.map(facts, target), target);
  return s.single && !s.of_rows && schedule::tile(chosen) > 1 ? schedule::plain_map(facts) : chosen;
}

}  // namespace

std::vector<std::vector<Compute>> merge_computes(std::vector<Compute> computes, const Target& target,
                                                 const schedule::Scheduler& scheduler) {
  join_loops(computes, kernel_buffers(target));
  std::vector<std::vector<Compute>> groups;
  std::unordered_map<uint32_t, size_t> last_writer;  // buffer -> the last group that writes it
  for (Compute& s : computes) {
    size_t first = 0;  // behind the last group that makes something this compute reads
    for (const schedule::Read& r : s.reads)
      if (const auto it = last_writer.find(r.buffer); it != last_writer.end()) first = std::max(first, it->second + 1);
    size_t place = groups.size();
    if (first > 0 && joins(groups[first - 1], s) && fits_together(groups[first - 1], {&s, 1}, target)) place = first - 1;
    const size_t from = groups.size() > kLookBack ? std::max(first, groups.size() - kLookBack) : first;
    for (size_t j = from; j < groups.size() && place == groups.size(); ++j)
      if (fits_together(groups[j], {&s, 1}, target)) place = j;
    if (place == groups.size()) groups.emplace_back();
    for (uint32_t buffer : s.writes) {
      const auto [it, fresh] = last_writer.try_emplace(buffer, place);
      if (!fresh) it->second = std::max(it->second, place);
    }
    groups[place].push_back(std::move(s));
  }
  postpone(groups, target);
  for (std::vector<Compute>& g : groups) {
    g = merged(std::move(g));
    for (Compute& s : g)
      if (s.kind == Compute::Kind::Map) s.schedule = scheduled(s, g.size() == 1, target, scheduler);
  }
  return groups;
}

}  // namespace spirograd::lower
