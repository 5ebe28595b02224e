#include "tests/faults/places.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "spirograd/result.h"
#include "tests/faults/calls.h"
#include "vk_runtime/errors.h"

namespace spirograd::faults {
namespace {

constexpr int kMostLost = 20;  // devices that a process keeps, with their threads

// Runs f in a process of its own; `hear` gets the lines that it says. False: it crashed, or was silent for too long.
bool in_a_process(const std::function<void(const std::function<void(std::string)>& say)>& f,
                  const std::function<void(const std::string&)>& hear, int seconds, std::string& how_it_ended) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("SG0901", "no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    try {
      f([&](std::string line) {
        line += '\n';
        if (::write(ends[1], line.data(), line.size()) < 0) ::_exit(3);
      });
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      ::_exit(4);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  bool is_late = false;
  for (;;) {
    pollfd p{ends[0], POLLIN, 0};
    is_late = ::poll(&p, 1, 1000 * seconds) == 0;
    char part[4096];
    const ssize_t n = is_late ? 0 : ::read(ends[0], part, sizeof part);
    if (n <= 0) break;
    text.append(part, static_cast<size_t>(n));
    for (size_t at; (at = text.find('\n')) != std::string::npos; text.erase(0, at + 1)) hear(text.substr(0, at));
  }
  if (is_late) ::kill(child, SIGKILL);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  how_it_ended = is_late               ? "hung for " + std::to_string(seconds) + " seconds"
                 : WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status))
                 : WEXITSTATUS(status) ? "ended with " + std::to_string(WEXITSTATUS(status))
                                       : "";
  return how_it_ended.empty();
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string leftovers() {
  std::string text;
  for (const auto& [kind, n] : alive()) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + kind;
  return text;
}

// What an error has to be, whatever was done about it on the way.
bool suits(const Error& e, VkResult code) {
  switch (code) {
    case VK_ERROR_DEVICE_LOST: return e.code == "SG0310";
    case VK_TIMEOUT: return e.code == "SG0312" || e.code == "SG0310";  // whoever adopts a device gets no other one
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_MEMORY_MAP_FAILED:
    case VK_ERROR_TOO_MANY_OBJECTS: return e.code == "SG0601";
    case VK_ERROR_INITIALIZATION_FAILED:
    case VK_ERROR_INCOMPATIBLE_DRIVER: return e.code == "SG0302" || e.code == "SG0305";
    default: return e.code == "SG0305" || e.code == "SG0303";
  }
}

Tried try_one(const Place& place, const Settings& settings) {
  const Fallible& call = fallible_calls()[place.call];
  Faults faults;
  faults.name = call.name;
  faults.countdown = place.number;
  faults.code = static_cast<VkResult>(place.code);
  faults.for_good = place.for_good;
  Tried out{place, Kind::Survived, ""};
  const auto bad = [&](const std::string& text) {
    out.text = (out.kind == Kind::Bad ? out.text + "; " : "") + text;
    out.kind = Kind::Bad;
  };
  bool is_lost = false;
  watch(&faults);
  try {
    if (const std::string wrong = lives()[place.life].live(settings); !wrong.empty()) bad(wrong);
  } catch (const Error& e) {
    out = {place, Kind::Refused, one_line(e.str())};
    is_lost = e.code == "SG0310" || e.code == "SG0312";
    const bool names_call = e.str().find(call.name) != std::string::npos;
    if (!suits(e, faults.code) || (!names_call && !is_lost)) bad("another error: " + one_line(e.str()));
  }
  watch(nullptr);
  if (!faults.failed && out.kind == Kind::Survived) out.kind = Kind::NotReached;
  for (const std::string& c : take_complaints()) bad(c);
  // Of a device that the self-test has given up for another nobody need hear.
  const bool may_keep = place.for_good || faults.code == VK_TIMEOUT;
  if (const std::string left = leftovers(); !left.empty()) {
    if (!may_keep)
      bad("left: " + left);
    else if (out.kind != Kind::Bad)
      out.kind = Kind::Kept;
  }
  if (const std::string said = take_messages(); !said.empty()) bad("validation: " + one_line(said));
  return out;
}

}  // namespace

std::string to_string(const Place& p) {
  return std::string(lives()[p.life].name) + ": " + fallible_calls()[p.call].name + ", call " + std::to_string(p.number) +
         ", " + vk::result_name(static_cast<VkResult>(p.code)) + (p.for_good ? " for good" : "");
}

std::vector<Place> all_places(const Settings& settings, std::string_view only, int seconds) {
  std::vector<Place> out;
  std::string ended;
  if (!in_a_process([&](const auto&) { prepare(settings); }, [](const std::string&) {}, seconds, ended))
    throw Error("SG0901", "a process that makes a device " + ended);
  for (size_t life = 0; life < lives().size(); ++life) {
    if (!only.empty() && only != lives()[life].name) continue;
    std::vector<int> counts(fallible_calls().size());
    std::string error, how;
    const auto count = [&](const auto& say) {
      Faults faults;
      watch(&faults);
      try {
        if (const std::string wrong = lives()[life].live(settings); !wrong.empty()) say("e" + wrong);
      } catch (const Error& e) {
        say("e" + one_line(e.str()));
      }
      watch(nullptr);
      if (const std::string left = leftovers(); !left.empty()) say("eleft: " + left);
      if (const std::string said = take_messages(); !said.empty()) say("evalidation: " + one_line(said));
      for (size_t i = 0; i < counts.size(); ++i) say("c" + std::to_string(faults.calls[fallible_calls()[i].name]));
    };
    size_t next = 0;
    const auto hear = [&](const std::string& line) {
      if (line[0] == 'e')
        error = line.substr(1);
      else
        counts[next++] = std::stoi(line.substr(1));
    };
    if (!in_a_process(count, hear, seconds, how)) error = how;
    if (!error.empty()) throw Error("SG0901", std::string(lives()[life].name) + ", with nothing failing: " + error);
    for (size_t call = 0; call < counts.size(); ++call)
      for (int k = 1; k <= counts[call]; ++k)
        for (const VkResult code : fallible_calls()[call].codes) {
          out.push_back({life, call, k, code, false});
          if (code == VK_ERROR_DEVICE_LOST) out.push_back({life, call, k, code, true});
        }
  }
  return out;
}

std::vector<Tried> try_places(const std::vector<Place>& places, const Settings& settings, int seconds,
                              const std::function<void(const Tried&)>& told) {
  std::vector<Tried> out;
  const auto add = [&](Tried t) {
    out.push_back(std::move(t));
    told(out.back());
  };
  while (out.size() < places.size()) {
    const Place& first = places[out.size()];
    // What a process does once is done by a process that does nothing else. The others have done it before they begin.
    const bool is_alone = fallible_calls()[first.call].of_process;
    const auto work = [&](const auto& say) {
      if (!is_alone) lives()[first.life].live(settings);
      int lost = 0;
      for (size_t i = out.size(); i < places.size(); ++i) {
        if (places[i].life != first.life || fallible_calls()[places[i].call].of_process != is_alone) return;
        const Tried t = try_one(places[i], settings);
        say(std::to_string(static_cast<int>(t.kind)) + t.text);
        if (is_alone) return;
        if (!alive().empty() && ++lost > kMostLost) return;
        forget_living();  // what is left of this one is not the next one's
      }
    };
    const auto hear = [&](const std::string& line) {
      const Place& place = places[out.size()];
      add({place, static_cast<Kind>(line[0] - '0'), line.substr(1)});
    };
    std::string how;
    const size_t before = out.size();
    if (!in_a_process(work, hear, seconds, how) && out.size() < places.size())
      add({places[out.size()], Kind::Bad, how});
    else if (out.size() == before)
      throw Error("SG0901", "a process that tried " + to_string(first) + " said nothing");
  }
  return out;
}

std::vector<Place> sample(const std::vector<Place>& places) {
  std::vector<Place> out;
  for (size_t call = 0; call < fallible_calls().size(); ++call) {
    std::vector<size_t> in_lives;
    for (const Place& p : places)
      if (p.call == call && p.number == 1 && (in_lives.empty() || in_lives.back() != p.life)) in_lives.push_back(p.life);
    if (in_lives.empty()) continue;
    const size_t life = fallible_calls()[call].of_process ? in_lives[0] : in_lives[call % in_lives.size()];
    std::vector<Place> here;
    std::copy_if(places.begin(), places.end(), std::back_inserter(here),
                 [&](const Place& p) { return p.call == call && p.life == life; });
    const int middle = (here.back().number + 1) / 2;
    std::erase_if(here, [&](const Place& p) { return p.number != middle; });
    out.push_back(here[call % here.size()]);
  }
  // Those of one life are tried by one process.
  std::stable_sort(out.begin(), out.end(), [](const Place& a, const Place& b) { return a.life < b.life; });
  return out;
}

}  // namespace spirograd::faults
