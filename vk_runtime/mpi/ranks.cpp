#include "spirograd/ranks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "vk_runtime/cache_file.h"
#include "vk_runtime/mpi/messages.h"
#include "vk_runtime/shards/pieces.h"

namespace spirograd {
namespace {

using ranks::Messages;

// ---- what all ranks agree on before anything else is sent

struct Call {
  uint64_t count = 0;   // of the axis
  uint64_t what = 0;    // that is joined: equal on all ranks
  uint64_t failed = 0;  // bytes of the error that a rank has instead
};

std::string text_of(const Error& e) {
  std::string out = e.code;
  for (const std::string& part : {e.message, e.help}) out += '\0' + part;
  return out;
}

Error error_of(const std::string& text, int rank, int size) {
  const size_t message = text.find('\0') + 1, help = text.find('\0', message) + 1;
  Error e(text.substr(0, message - 1),
          "rank " + std::to_string(rank) + " of " + std::to_string(size) + ": " + text.substr(message, help - 1 - message));
  e.help = text.substr(help);
  return e;
}

// Calls of all ranks, by rank. Throws the error of the first rank that has one.
std::vector<Call> agreed(Messages& messages, Call mine, const Error* error) {
  std::string text = error ? text_of(*error) : "";
  mine.failed = text.size();
  const std::vector<uint64_t> words = messages.from_each(std::vector{mine.count, mine.what, mine.failed});
  std::vector<Call> all;
  for (size_t at = 0; at < words.size(); at += 3) all.push_back({words[at], words[at + 1], words[at + 2]});
  for (int r = 0; r < messages.size(); ++r) {
    const Call& other = all[static_cast<size_t>(r)];
    if (other.failed == 0) continue;
    text.resize(other.failed);
    messages.from_one(r, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
    throw error_of(text, r, messages.size());
  }
  for (int r = 1; r < messages.size(); ++r)
    if (all[static_cast<size_t>(r)].what != all[0].what)
      throw Error("SG0511", "rank " + std::to_string(r) + " joins other results than rank 0")
          .hint("all ranks call the same, with results of the same types");
  return all;
}

// A number for what is joined, and how; extents that are concatenated may differ.
uint64_t number_of(std::span<const HostArray> mine, std::span<const JoinedResult> how, const JoinOptions& options) {
  std::vector<uint8_t> bytes = {options.fixed_order};
  for (size_t j = 0; j < mine.size(); ++j) {
    Type type = mine[j].type;
    if (how[j].how == Joined::Concatenate) type.shape[how[j].axis] = 0;
    const std::string text = to_string(type) + std::string(name(how[j].how)) + std::to_string(how[j].axis);
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  return vk::hash64(bytes);
}

void check_joined(std::span<const HostArray> mine, std::span<const JoinedResult> how, int64_t count) {
  if (mine.size() != how.size())
    throw Error("SG0511",
                "join: " + std::to_string(mine.size()) + " results, and " + std::to_string(how.size()) + " ways to join");
  if (count < 0) throw Error("SG0511", "join: a piece of " + std::to_string(count) + " elements");
  for (size_t j = 0; j < mine.size(); ++j) shards::type_in_piece({how[j].result, 0, mine[j].type}, how[j], count, count);
}

// ---- sums and means, all in one array for each kind of number

template <class T>
struct Bucket {
  std::vector<T> numbers;
  size_t at = 0;  // where the next result begins, on the way back

  void add(const HostArray& a, double weight) {
    for (double x : a.values()) numbers.push_back(static_cast<T>(x * weight));
  }
  HostArray next(const Type& type) {
    const auto from = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    at += static_cast<size_t>(type.shape.count());
    return HostArray(type, std::vector<double>(from, numbers.begin() + static_cast<std::ptrdiff_t>(at)));
  }
  void sum(Messages& messages, bool in_order) {
    if (numbers.empty()) return;
    if constexpr (std::floating_point<T>)
      in_order ? messages.sum_in_order(std::span<T>(numbers)) : messages.sum(std::span<T>(numbers));
    else
      messages.sum(std::span<T>(numbers));
  }
};

// Whole numbers are added modulo 2^32, signed or not.
template <>
void Bucket<uint32_t>::add(const HostArray& a, double) {
  const size_t before = numbers.size();
  numbers.resize(before + static_cast<size_t>(a.count()));
  if (a.count() > 0) std::memcpy(numbers.data() + before, a.bytes.data(), a.bytes.size());
}
template <>
HostArray Bucket<uint32_t>::next(const Type& type) {
  HostArray out(type);
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), numbers.data() + at, out.bytes.size());
  at += static_cast<size_t>(type.shape.count());
  return out;
}

struct Buckets {
  Bucket<float> single;
  Bucket<double> wide;
  Bucket<uint32_t> whole;

  // Calls `f` with the bucket of these elements.
  auto with(DType t, auto&& f) { return t == DType::F64 ? f(wide) : is_float(t) ? f(single) : f(whole); }
  void sum(Messages& messages, bool in_order) {
    single.sum(messages, in_order);
    wide.sum(messages, in_order);
    whole.sum(messages, in_order);
  }
};

HostArray concatenated(Messages& messages, const HostArray& mine, const JoinedResult& how, std::span<const Call> calls) {
  const int64_t own = mine.type.shape[how.axis];
  Type type = mine.type;
  type.shape[how.axis] = 1;
  const uint64_t unit = HostArray(type).bytes.size();
  std::vector<uint64_t> counts;
  int64_t whole = 0;
  for (const Call& c : calls) {
    counts.push_back(c.count);
    whole += static_cast<int64_t>(c.count);
  }
  if (static_cast<uint64_t>(own) != counts[static_cast<size_t>(messages.rank())])
    throw Error("SG0900", "internal: a piece of another extent");  // check_joined has seen to it
  const std::vector<uint8_t> bytes = messages.joined(mine.bytes, counts, unit);
  std::vector<HostArray> pieces(calls.size());
  std::vector<shards::Part> parts;
  size_t at = 0;
  for (size_t r = 0; r < pieces.size(); ++r) {
    type.shape[how.axis] = static_cast<int64_t>(counts[r]);
    pieces[r] = HostArray(type);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), pieces[r].bytes.size(), pieces[r].bytes.begin());
    at += pieces[r].bytes.size();
    parts.push_back({static_cast<int64_t>(counts[r]), &pieces[r]});
  }
  type.shape[how.axis] = whole;
  return shards::joined(type, how, parts);
}

}  // namespace

struct Ranks::Impl {
  bool began;  // MPI, which then is ours to end
  std::optional<Messages> messages;
  explicit Impl(bool begins) : began(begins) {}
  ~Impl() {
    messages.reset();
    int ended = 0;
    if (began && MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Finalize();
  }
};

Ranks::Ranks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ranks::~Ranks() = default;

Result<std::unique_ptr<Ranks>> Ranks::world() {
  return guarded([] {
    int begun = 0, given = 0;
    ranks::check(MPI_Initialized(&begun), "MPI_Initialized");
    if (!begun) ranks::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread");
    auto impl = std::make_unique<Impl>(!begun);
    impl->messages.emplace(MPI_COMM_WORLD);
    return std::unique_ptr<Ranks>(new Ranks(std::move(impl)));
  });
}

Result<std::unique_ptr<Ranks>> Ranks::adopt(const void* communicator) {
  return guarded([&] {
    int begun = 0;
    ranks::check(MPI_Initialized(&begun), "MPI_Initialized");
    if (!begun || !communicator)
      throw Error("SG0512", std::string("adopt: ") + (begun ? "there is no communicator" : "MPI has not begun"))
          .hint("call MPI_Init first, and give the address of an MPI_Comm");
    auto impl = std::make_unique<Impl>(false);
    impl->messages.emplace(*static_cast<const MPI_Comm*>(communicator));
    return std::unique_ptr<Ranks>(new Ranks(std::move(impl)));
  });
}

int Ranks::rank() const { return impl_->messages->rank(); }
int Ranks::size() const { return impl_->messages->size(); }

Piece Ranks::piece(int64_t extent) const {
  const int64_t n = size(), r = rank(), each = extent / n, more = extent % n;
  return {r * each + std::min(r, more), each + (r < more)};
}

HostArray Ranks::piece_of(const HostArray& array, int axis) const {
  const Piece p = piece(array.type.shape[axis]);
  return shards::piece_of(array, axis, p.first, p.count);
}

Result<std::vector<HostArray>> Ranks::join(Result<std::vector<HostArray>> mine, std::span<const JoinedResult> how,
                                           int64_t count, const JoinOptions& options) {
  return guarded([&] {
    Messages& messages = *impl_->messages;
    std::optional<Error> error;
    if (!mine)
      error = mine.error();
    else if (const Result<void> fits = guarded([&] { check_joined(*mine, how, count); }); !fits)
      error = fits.error();
    const uint64_t what = error ? 0 : number_of(*mine, how, options);
    const std::vector<Call> calls = agreed(messages, {static_cast<uint64_t>(count), what, 0}, error ? &*error : nullptr);
    if (messages.size() == 1) return std::move(*mine);
    double whole = 0;
    for (const Call& c : calls) whole += static_cast<double>(c.count);
    Buckets buckets;
    for (size_t j = 0; j < how.size(); ++j) {
      if (how[j].how == Joined::Concatenate) continue;
      // Of nothing at all a mean is 0 / 0, as on one rank.
      const double weight = how[j].how == Joined::Sum ? 1 : static_cast<double>(count) / whole;
      // A rank without data has means of nothing, which are NaN.
      if (how[j].how == Joined::Mean && count == 0 && whole > 0)
        buckets.with((*mine)[j].type.dtype, [&](auto& b) { b.add(HostArray((*mine)[j].type), 0); });
      else
        buckets.with((*mine)[j].type.dtype, [&](auto& b) { b.add((*mine)[j], weight); });
    }
    buckets.sum(messages, options.fixed_order);
    std::vector<HostArray> out;
    for (size_t j = 0; j < how.size(); ++j) {
      const Type& type = (*mine)[j].type;
      out.push_back(how[j].how == Joined::Concatenate ? concatenated(messages, (*mine)[j], how[j], calls)
                                                      : buckets.with(type.dtype, [&](auto& b) { return b.next(type); }));
    }
    return out;
  });
}

Result<std::vector<HostArray>> Ranks::share(Result<std::vector<HostArray>> of_first) {
  return guarded([&] {
    Messages& messages = *impl_->messages;
    const bool first = messages.rank() == 0;
    agreed(messages, {}, first && !of_first ? &of_first.error() : nullptr);
    std::vector<HostArray> out;
    if (first) out = std::move(*of_first);
    // The number of arrays and their types, then their bytes.
    constexpr size_t kWords = 2 + static_cast<size_t>(kMaxRank);
    std::vector<uint64_t> words;
    for (const HostArray& a : out) {
      words.insert(words.end(), {static_cast<uint64_t>(a.type.dtype), static_cast<uint64_t>(a.type.shape.rank())});
      for (int axis = 0; axis < kMaxRank; ++axis)
        words.push_back(axis < a.type.shape.rank() ? static_cast<uint64_t>(a.type.shape[axis]) : 0);
    }
    uint64_t n = out.size();
    const auto as_bytes = [](auto* from, size_t count) { return std::span(reinterpret_cast<uint8_t*>(from), count * 8); };
    messages.from_one(0, as_bytes(&n, 1));
    words.resize(n * kWords);
    messages.from_one(0, as_bytes(words.data(), words.size()));
    for (size_t j = 0; j < n && !first; ++j) {
      Type type{static_cast<DType>(words[j * kWords]), {}};
      for (size_t axis = 0; axis < words[j * kWords + 1]; ++axis)
        type.shape.push_back(static_cast<int64_t>(words[j * kWords + 2 + axis]));
      out.emplace_back(type);
    }
    for (HostArray& a : out) messages.from_one(0, a.bytes);
    return out;
  });
}

}  // namespace spirograd
