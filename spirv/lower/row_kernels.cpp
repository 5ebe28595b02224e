#include "spirv/lower/row_kernels.h"

#include <algorithm>

#include "spirv/lower/steps.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/group_rules.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

bool is_elementwise(const Node& n) { return ir::is_pointwise(n.op) || ir::is_unary_layout(n.op); }

class Finder {
 public:
  Finder(const Graph& g, std::span<const NodeId> results, const std::set<uint32_t>& apart, Partition& partition,
         const Target& target)
      : g_(g), target_(target), p_(partition), apart_(apart) {
    for (NodeId r : results) results_.insert(r.v);
    for (const auto& [node, reduction] : p_.beside) apart_.insert({node, reduction});
    for (NodeId id : p_.order) {
      place_[id.v] = place_.size();
      if (!p_.roots.contains(id.v)) continue;
      for (NodeId leaf : extent_(id).leaves) users_[leaf.v].insert(id.v);
    }
  }

  RowKernels run() {
    // A kernel that the map does not get into takes what was in its way.
    for (auto id = p_.order.rbegin(); id != p_.order.rend(); ++id)
      while (is_map(*id) && grow(*id)) continue;
    return std::move(out_);
  }

 private:
  struct Kernel {
    Shape domain;
    std::set<uint32_t> members;
    int64_t code = 0;
    int64_t length() const { return domain[domain.rank() - 1]; }
    Shape rows() const { return domain.erased(domain.rank() - 1); }
  };

  // What is filled needs no kernel, and where one begins with it nobody would run the kernel.
  bool may_join(NodeId id) const {
    return p_.roots.contains(id.v) && !apart_.contains(id.v) && !taken_.contains(id.v) && !filled_with(g_, id);
  }
  bool is_map(NodeId id) const {
    const Node& n = g_[id];
    return may_join(id) && is_elementwise(n) && n.type.shape.rank() > 0 && n.type.shape.count() > 0;
  }

  const Accesses& accesses_of(NodeId id) {
    const auto [it, fresh] = accesses_.try_emplace(id.v);
    if (fresh) it->second = accesses(g_, id, p_.roots);
    return it->second;
  }

  // Whether these axes of the node's own points are those of a row, and not of its elements.
  bool are_of_row(uint32_t axes, NodeId id, const Kernel& k) const {
    const Shape& points = g_[id].type.shape;
    const uint32_t own = schedule::long_axes(points), element = points == k.domain ? 1u << (points.rank() - 1) : 0;
    return (axes & own) == (own & ~element);
  }

  // Whether all that it reduces are rows of the domain: where it has an element for each of theirs, all need the whole row.
  bool reduces_rows(NodeId id, const Kernel& k) {
    return std::ranges::all_of(accesses_of(id).reductions, [&](const schedule::Reduction& r) {
      return schedule::reduces_row(r, k.length()) && are_of_row(r.axes, id, k);
    });
  }

  // A map over the rows, or a value of each: with or without an axis in place of the row.
  bool fits(NodeId id, const Kernel& k) {
    const Node& n = g_[id];
    if (!may_join(id)) return false;
    const bool map = is_elementwise(n) && n.type.shape == k.domain;
    const bool row = (is_elementwise(n) || ir::info(n.op).kind == ir::Kind::Reduce) && is_row(n.type.shape, k);
    return (map || row) && reduces_rows(id, k);
  }
  static bool is_row(const Shape& s, const Kernel& k) {
    return s == k.rows() || (s.rank() == k.domain.rank() && s[s.rank() - 1] == 1 && s.erased(s.rank() - 1) == k.rows());
  }

  // Whether `user` asks for no other row of `read` than its own.
  bool reads_own_rows(NodeId user, NodeId read, const Kernel& k) {
    return std::ranges::all_of(accesses_of(user).reads,
                               [&](const Access& a) { return a.leaf != read || reads_own_row(user, a, k); });
  }
  bool reads_own_row(NodeId user, const Access& a, const Kernel& k) const {
    const bool map = g_[a.leaf].type.shape == k.domain;
    return (map && a.own) || (a.reduced == map && are_of_row(a.axes, user, k));
  }

  // All that can be reached from the map. False: it is no kernel.
  bool grow(NodeId map) {
    constexpr size_t kMost = 32;  // more are no small kernel
    Kernel k{g_[map].type.shape, {map.v}};
    if (schedule::row_members(k.rows().count(), k.length(), 1, target_) == 0 || !reduces_rows(map, k)) return false;
    std::vector<NodeId> open = {map};
    const auto join = [&](NodeId id) {
      if (k.members.size() < kMost && k.members.insert(id.v).second) open.push_back(id);
    };
    while (!open.empty()) {
      const NodeId at = open.back();
      open.pop_back();
      for (const Access& a : accesses_of(at).reads)
        if (fits(a.leaf, k) && reads_own_rows(at, a.leaf, k)) join(a.leaf);
      for (const uint32_t user : users_[at.v])
        if (fits({user}, k) && reads_own_rows({user}, at, k)) join({user});
    }
    drop_what_waits(k);
    while (is_worth_it(k)) {
      if (is_small(k)) {
        take(k);
        return true;
      }
      k.members.erase(*std::ranges::min_element(k.members, {}, place()));
    }
    return false;
  }

  std::function<size_t(uint32_t)> place() const {
    return [this](uint32_t id) { return place_.at(id); };
  }

  // The kernel runs where its first node would: what others read must be there by then.
  void drop_what_waits(Kernel& k) {
    for (size_t before = k.members.size() + 1; before != k.members.size();) {
      before = k.members.size();
      const size_t first = place_.at(*std::ranges::min_element(k.members, {}, place()));
      std::erase_if(k.members, [&](uint32_t id) {
        return std::ranges::any_of(accesses_of({id}).reads, [&](const Access& a) {
          const bool computed = p_.roots.contains(a.leaf.v) || g_[a.leaf].op == Op::Proj;
          return computed && !k.members.contains(a.leaf.v) && place_.at(a.leaf.v) > first;
        });
      });
    }
  }

  bool is_private(uint32_t id, const Kernel& k) {
    return !results_.contains(id) &&
           std::ranges::all_of(users_[id], [&](uint32_t user) { return k.members.contains(user); });
  }

  bool is_small(Kernel& k) {
    k.code = 0;
    std::set<uint32_t> buffers;
    for (const uint32_t id : k.members) {
      const Extent e = extent_({id});
      k.code += e.code;
      for (NodeId leaf : e.leaves)
        if (!k.members.contains(leaf.v)) buffers.insert(leaf.v);
      if (!is_private(id, k)) buffers.insert(id);
    }
    return k.code <= schedule::kKernelCode && buffers.size() < kernel_buffers(target_) &&
           schedule::row_members(k.rows().count(), k.length(), k.code, target_) > 0;
  }

  // A row is read for more than one of the nodes, and a map is stored or nothing but values of rows.
  bool is_worth_it(const Kernel& k) {
    const auto is_map = [&](uint32_t id) { return g_[{id}].type.shape == k.domain; };
    const bool map = std::ranges::any_of(k.members, [&](uint32_t id) { return is_map(id) && !is_private(id, k); });
    const bool rows = schedule::stores_rows(target_) && std::ranges::all_of(k.members, [&](uint32_t id) {
                        return is_map(id) || g_[{id}].type.shape == k.rows() || is_private(id, k);
                      });
    const bool reduces = std::ranges::any_of(k.members, [&](uint32_t id) { return !accesses_of({id}).reductions.empty(); });
    return k.members.size() > 1 && (map || rows) && reduces;
  }

  void take(const Kernel& k) {
    RowKernel kernel{{}, {}, k.code};
    uint32_t first = *k.members.begin();
    std::vector<uint32_t> in_order(k.members.begin(), k.members.end()), dropped;
    std::ranges::sort(in_order, {}, place());
    for (const uint32_t id : in_order) {
      taken_.insert(id);
      if (is_private(id, k)) {
        dropped.push_back(id);
        continue;
      }
      if (kernel.maps.empty() && kernel.rows.empty()) first = id;
      out_.others.insert(id);
      (g_[{id}].type.shape == k.domain ? kernel.maps : kernel.rows).push_back({id});
    }
    for (const uint32_t id : dropped) p_.roots.erase(id);
    out_.others.erase(first);
    out_.kernels.emplace(first, std::move(kernel));
  }

  const Graph& g_;
  const Target& target_;
  Partition& p_;
  RowKernels out_;
  std::set<uint32_t> apart_, results_, taken_;
  std::map<uint32_t, size_t> place_;              // in the order of the region
  std::map<uint32_t, std::set<uint32_t>> users_;  // roots that read a root
  std::map<uint32_t, Accesses> accesses_;
  ExtentWalk extent_{g_, p_.roots};
};

}  // namespace

std::set<uint32_t> without_rows(std::set<uint32_t> stored, const Partials& partial, const std::set<uint32_t>& stretched) {
  for (const uint32_t id : stretched) stored.erase(id);
  for (const auto& [id, schedule] : partial)
    if (schedule::of_whole_rows(schedule)) stored.erase(id);
  return stored;
}

RowKernels find_row_kernels(const Graph& g, std::span<const NodeId> results, const std::set<uint32_t>& apart,
                            Partition& partition, const Target& target) {
  const bool takes = schedule::shares_rows(target) || schedule::takes_rows_alone(target);
  return takes ? Finder(g, results, apart, partition, target).run() : RowKernels{};
}

}  // namespace spirograd::lower
