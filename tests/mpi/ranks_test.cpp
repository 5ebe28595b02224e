// What all ranks of an MPI job join is that of the whole, on every rank, with the same bits; and what goes wrong on one of
// them is told on all. The test program runs under mpirun: each rank is one of these processes, and all take part in each
// test.
#include "spirograd/ranks.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirograd/vk.h"

namespace spirograd {
namespace {

std::unique_ptr<Ranks> ranks;  // of all tests

using Arrays = std::vector<HostArray>;

HostArray sines(const Type& type, double step) {
  std::vector<double> x;
  for (int64_t i = 0; i < type.shape.count(); ++i) x.push_back(std::sin(step * static_cast<double>(i) + 1));
  return HostArray(type, x);
}

// A rank's own array, from those of all: element i of rank r.
HostArray of_rank(DType t, int64_t n, double scale = 1) {
  std::vector<double> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(scale * static_cast<double>(i + 1) * (ranks->rank() + 1));
  return HostArray({t, {n}}, x);
}

double sum_of_ranks() { return ranks->size() * (ranks->size() + 1) / 2.0; }

// Every bit of every result is that of rank 0.
void expect_same_everywhere(const Arrays& mine) {
  const Arrays first = ranks->share(mine).value();
  ASSERT_EQ(first.size(), mine.size());
  for (size_t j = 0; j < mine.size(); ++j) {
    EXPECT_EQ(first[j].type, mine[j].type);
    EXPECT_EQ(first[j].bytes, mine[j].bytes) << "result " << j;
  }
}

TEST(Ranks, PiecesCoverTheAxis) {
  for (const int64_t n : {0, 1, 3, 7, 1000}) {
    const Piece mine = ranks->piece(n);
    const Arrays all =
        ranks->join(Arrays{HostArray(i32({mine.count}))}, std::vector<JoinedResult>{{"", Joined::Concatenate}}, mine.count)
            .value();
    EXPECT_EQ(all[0].count(), n);
    EXPECT_TRUE(ranks->rank() > 0 || mine.first == 0);
    EXPECT_TRUE(ranks->rank() < ranks->size() - 1 || mine.first + mine.count == n);
    EXPECT_LE(mine.count, n / ranks->size() + 1);
  }
}

TEST(Ranks, SumsAreThoseOfAll) {
  const std::vector<JoinedResult> sums(5, JoinedResult{"", Joined::Sum});
  for (const bool fixed : {false, true}) {
    const Arrays all = ranks
                           ->join(Arrays{of_rank(DType::F32, 5), of_rank(DType::F64, 3), of_rank(DType::I32, 2, -1),
                                         of_rank(DType::U32, 1, 4e9), of_rank(DType::F16, 2)},
                                  sums, 1, {.fixed_order = fixed})
                           .value();
    const double s = sum_of_ranks();
    EXPECT_EQ(all[0].values(), (std::vector{s, 2 * s, 3 * s, 4 * s, 5 * s}));
    EXPECT_EQ(all[1].values(), (std::vector{s, 2 * s, 3 * s}));
    EXPECT_EQ(all[2].values(), (std::vector{-s, -2 * s}));
    EXPECT_EQ(all[4].values(), (std::vector{s, 2 * s}));
    EXPECT_EQ(all[4].type, f16({2}));
    expect_same_everywhere(all);
  }
}

// Numbers of which each order of additions gives another sum in f32, but not in double.
TEST(Ranks, AFixedOrderRoundsOnce) {
  const int64_t n = 1001;
  std::vector<double> mine, want;
  for (int64_t i = 0; i < n; ++i) {
    const auto of = [&](int r) {
      return static_cast<double>(static_cast<float>(std::sin(1e3 * static_cast<double>(i) + r) * std::pow(10, r)));
    };
    mine.push_back(of(ranks->rank()));
    double sum = 0;
    for (int r = 0; r < ranks->size(); ++r) sum += of(r);
    want.push_back(static_cast<double>(static_cast<float>(sum)));
  }
  const Arrays all =
      ranks->join(Arrays{HostArray(f32({n}), mine)}, std::vector<JoinedResult>{{"", Joined::Sum}}, 1, {.fixed_order = true})
          .value();
  EXPECT_EQ(all[0].values(), want);
}

TEST(Ranks, RowsAreConcatenatedAlongAnyAxis) {
  const HostArray whole = sines(f32({4, 11, 3}), 0.3), table = sines(f32({11}), 0.7);
  const int64_t count = ranks->piece(11).count;
  const Arrays all = ranks
                         ->join(Arrays{ranks->piece_of(whole, 1), ranks->piece_of(table)},
                                std::vector<JoinedResult>{{"", Joined::Concatenate, 1}, {"", Joined::Concatenate, 0}}, count)
                         .value();
  EXPECT_EQ(all[0].type, whole.type);
  EXPECT_EQ(all[0].bytes, whole.bytes);
  EXPECT_EQ(all[1].bytes, table.bytes);
}

// Means count for as much as their pieces, and not at all where a rank has no data.
TEST(Ranks, GradientsAreThoseOfTheWhole) {
  const auto file = text::parse(
                        "def loss(w: f32[3], x: f32[N, 3], y: f32[N]) -> (loss: f32, r: f32[N], s: f32) {\n"
                        "  let r = tanh(x @ w) - y\n  (mean(r * r), r, sum(r * r)) }",
                        "loss.sg")
                        .value();
  const auto program = [&](int64_t n) {
    return value_and_grad(text::instantiate(file, "loss", {{"N", n}}).value(), {"w"}).value();
  };
  const std::vector<JoinedResult> how = {
      {"loss", Joined::Mean}, {"r", Joined::Concatenate}, {"s", Joined::Sum}, {"d_w", Joined::Mean}};
  const auto device = vk::Device::create().value();
  for (const int64_t n : {2, 1003}) {
    const HostArray w(f32({3}), {0.5, -1, 0.25}), x = sines(f32({n, 3}), 0.7), y = sines(f32({n}), 0.4);
    const int64_t count = ranks->piece(n).count;
    CompileOptions options;
    options.form = device->preferred_form();
    const auto session = vk::Session::create(device, compile(program(count), device->target(), options).value()).value();
    for (const bool fixed : {false, true}) {
      const auto all =
          ranks->join(session->run(Arrays{w, ranks->piece_of(x), ranks->piece_of(y)}), how, count, {.fixed_order = fixed});
      ASSERT_TRUE(all) << all.error().str();
      const std::vector<ir::Array> want = ir::evaluate(program(n), std::vector{w.values(), x.values(), y.values()});
      for (size_t r = 0; r < want.size(); ++r)
        for (size_t i = 0; i < want[r].data.size(); ++i)
          EXPECT_NEAR((*all)[r].values()[i], want[r].data[i], 1e-5 * std::max(1.0, std::abs(want[r].data[i])))
              << "result " << r;
      expect_same_everywhere(*all);
    }
  }
}

TEST(Ranks, WhatTheFirstHasAllGet) {
  const Arrays given = {sines(f32({2, 3}), 1), HostArray(Type{DType::Bool, {3}}, {1, 0, 1}), sines(f64({}), 2),
                        HostArray(i32({0, 4}))};
  const bool first = ranks->rank() == 0;
  const Arrays all = ranks->share(first ? given : Arrays()).value();
  ASSERT_EQ(all.size(), given.size());
  for (size_t j = 0; j < all.size(); ++j) {
    EXPECT_EQ(all[j].type, given[j].type);
    EXPECT_EQ(all[j].bytes, given[j].bytes);
  }
}

TEST(Ranks, WhatFailsOnOneIsToldOnAll) {
  const std::vector<JoinedResult> sum = {{"loss", Joined::Sum}};
  const int last = ranks->size() - 1;
  const Result<Arrays> fails = Error("SG0501", "the file of this rank is empty").hint("write it again");
  const auto joined = ranks->join(ranks->rank() == last ? fails : Arrays{of_rank(DType::F32, 2)}, sum, 1);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, "SG0501");
  EXPECT_EQ(joined.error().message,
            "rank " + std::to_string(last) + " of " + std::to_string(ranks->size()) + ": the file of this rank is empty");
  EXPECT_EQ(joined.error().help, "write it again");
  const auto shared = ranks->share(ranks->rank() == 0 ? fails : Arrays());
  ASSERT_FALSE(shared);
  EXPECT_NE(shared.error().message.find("rank 0 of"), std::string::npos);
  // Nothing is left over: the next call is right.
  EXPECT_EQ(ranks->join(Arrays{of_rank(DType::F32, 1)}, sum, 1).value()[0].values()[0], sum_of_ranks());
}

TEST(Ranks, DifferentCallsAreTold) {
  const auto error = [](Arrays arrays, std::vector<JoinedResult> how, int64_t count) {
    const auto joined = ranks->join(std::move(arrays), how, count);
    return joined ? std::string() : joined.error().str();
  };
  const JoinedResult sum{"", Joined::Sum}, rows{"", Joined::Concatenate};
  if (ranks->size() > 1) {
    EXPECT_NE(
        error({of_rank(DType::F32, ranks->rank() == 0 ? 2 : 3)}, {sum}, 1).find("rank 1 joins other results than rank 0"),
        std::string::npos);
    EXPECT_NE(error({of_rank(ranks->rank() == 0 ? DType::F32 : DType::F64, 2)}, {sum}, 1).find("SG0511"), std::string::npos);
  }
  EXPECT_NE(error({of_rank(DType::F32, 2)}, {sum, sum}, 1).find("1 results, and 2 ways"), std::string::npos);
  EXPECT_NE(error({of_rank(DType::F32, 2)}, {rows}, 3).find("cannot concatenate"), std::string::npos);
  EXPECT_NE(error({of_rank(DType::I32, 2)}, {{"", Joined::Mean}}, 2).find("of which there is no mean"), std::string::npos);
}

TEST(Ranks, ACommunicatorOfTheHostIsAdopted) {
  EXPECT_FALSE(Ranks::adopt(nullptr));
  MPI_Comm half = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, ranks->rank() % 2, 0, &half), MPI_SUCCESS);
  {
    const auto own = Ranks::adopt(&half).value();
    EXPECT_EQ(own->size(), (ranks->size() + 1 - ranks->rank() % 2) / 2);
    const Arrays all = own->join(Arrays{HostArray(f32(), {1})}, std::vector<JoinedResult>{{"", Joined::Sum}}, 1).value();
    EXPECT_EQ(all[0].values()[0], own->size());
  }
  MPI_Comm_free(&half);
}

}  // namespace
}  // namespace spirograd

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto world = spirograd::Ranks::world();
  if (!world) return std::fprintf(stderr, "%s\n", world.error().str().c_str()), 1;
  spirograd::ranks = std::move(*world);
  if (argc > 1 && std::string_view(argv[1]) == "dies") {
    // One rank says nothing and ends, while the others wait for it.
    if (spirograd::ranks->rank() == 1) std::_Exit(3);
    std::puts("waiting");
    return spirograd::ranks->share(spirograd::Arrays()) ? 0 : 1;
  }
  const int status = RUN_ALL_TESTS();
  spirograd::ranks.reset();
  return status;
}
