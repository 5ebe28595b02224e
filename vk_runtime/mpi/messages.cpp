#include "vk_runtime/mpi/messages.h"

#include <algorithm>
#include <limits>

#include "spirograd/result.h"

namespace spirograd::ranks {
namespace {

constexpr size_t kMost = size_t{1} << 28;  // elements of one message

}  // namespace

void check(int status, std::string_view call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error("SG0512", std::string(call) + " failed: " + std::string(text, static_cast<size_t>(length)))
      .hint("a rank may have ended; see what it printed");
}

Messages::Messages(MPI_Comm of) {
  check(MPI_Comm_dup(of, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

Messages::~Messages() {
  int ended = 0;
  if (MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Comm_free(&comm_);
}

std::vector<uint64_t> Messages::from_each(std::span<const uint64_t> mine) {
  std::vector<uint64_t> out(mine.size() * static_cast<size_t>(size_));
  const int n = static_cast<int>(mine.size());
  check(MPI_Allgather(mine.data(), n, MPI_UINT64_T, out.data(), n, MPI_UINT64_T, comm_), "MPI_Allgather");
  return out;
}

void Messages::from_one(int root, std::span<uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kMost)
    check(MPI_Bcast(bytes.data() + at, static_cast<int>(std::min(kMost, bytes.size() - at)), MPI_BYTE, root, comm_),
          "MPI_Bcast");
}

std::vector<uint8_t> Messages::joined(std::span<const uint8_t> mine, std::span<const uint64_t> counts, uint64_t unit) {
  std::vector<int> lengths, places;
  uint64_t all = 0;
  for (uint64_t c : counts) {
    lengths.push_back(static_cast<int>(c));
    places.push_back(static_cast<int>(all));
    all += c;
  }
  constexpr auto kMostUnits = static_cast<uint64_t>(std::numeric_limits<int>::max());
  if (all > kMostUnits || unit > kMostUnits)
    throw Error("SG0512", std::to_string(all) + " pieces of " + std::to_string(unit) + " bytes are more than MPI counts");
  std::vector<uint8_t> out(all * unit);
  if (out.empty()) return out;
  MPI_Datatype of_units = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &of_units), "MPI_Type_contiguous");
  MPI_Type_commit(&of_units);
  const int status = MPI_Allgatherv(mine.data(), lengths[static_cast<size_t>(rank_)], of_units, out.data(), lengths.data(),
                                    places.data(), of_units, comm_);
  MPI_Type_free(&of_units);
  check(status, "MPI_Allgatherv");
  return out;
}

template <class T>
void Messages::sum_all(std::span<T> numbers, MPI_Datatype type) {
  for (size_t at = 0; at < numbers.size(); at += kMost)
    check(MPI_Allreduce(MPI_IN_PLACE, numbers.data() + at, static_cast<int>(std::min(kMost, numbers.size() - at)), type,
                        MPI_SUM, comm_),
          "MPI_Allreduce");
}

template <class T>
void Messages::sum_parts(std::span<T> numbers, MPI_Datatype type) {
  const auto ranks = static_cast<size_t>(size_);
  for (size_t at = 0; at < numbers.size(); at += kMost) {
    const std::span<T> here = numbers.subspan(at, std::min(kMost, numbers.size() - at));
    const size_t part = (here.size() + ranks - 1) / ranks;
    std::vector<T> all(part * ranks), of_each(part * ranks), sums(part);
    std::copy(here.begin(), here.end(), all.begin());
    const int n = static_cast<int>(part);
    check(MPI_Alltoall(all.data(), n, type, of_each.data(), n, type, comm_), "MPI_Alltoall");
    for (size_t i = 0; i < part; ++i) {
      double sum = 0;
      for (size_t r = 0; r < ranks; ++r) sum += static_cast<double>(of_each[r * part + i]);
      sums[i] = static_cast<T>(sum);
    }
    check(MPI_Allgather(sums.data(), n, type, all.data(), n, type, comm_), "MPI_Allgather");
    std::copy(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(here.size()), here.begin());
  }
}

template void Messages::sum_all(std::span<float>, MPI_Datatype);
template void Messages::sum_all(std::span<double>, MPI_Datatype);
template void Messages::sum_all(std::span<uint32_t>, MPI_Datatype);
template void Messages::sum_parts(std::span<float>, MPI_Datatype);
template void Messages::sum_parts(std::span<double>, MPI_Datatype);

}  // namespace spirograd::ranks
