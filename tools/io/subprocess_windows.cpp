#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstdio>
#include <memory>

#include "spirograd/result.h"
#include "tools/io/subprocess.h"
#include "tools/io/utf8.h"

namespace spirograd::io {
namespace {

struct CloseHandleOf {
  using pointer = HANDLE;
  void operator()(HANDLE h) const { ::CloseHandle(h); }
};
using Handle = std::unique_ptr<HANDLE, CloseHandleOf>;

// As programs take their command lines apart: quotes around, backslashes doubled before quotes.
std::string quoted(const std::string& word) {
  std::string out = "\"";
  size_t backslashes = 0;
  for (char c : word) {
    if (c == '"') out.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    out += c;
  }
  return out.append(backslashes, '\\') + "\"";
}

[[noreturn]] void cannot_start(const std::string& program) {
  throw Error("SG0504", "cannot start '" + program + "': system error " + std::to_string(::GetLastError()));
}

}  // namespace

Ended run_process(const std::string& program, const std::vector<std::string>& arguments,
                  const std::function<void(const std::string&)>& line) {
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  HANDLE read_end = nullptr, write_end = nullptr;
  if (!::CreatePipe(&read_end, &write_end, &inherited, 0)) cannot_start(program);
  const Handle out(read_end);
  Handle given(write_end);
  ::SetHandleInformation(read_end, HANDLE_FLAG_INHERIT, 0);
  std::string command = quoted(program);
  for (const std::string& a : arguments) command += " " + quoted(a);
  std::wstring words = native(command).wstring();
  STARTUPINFOW start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = ::GetStdHandle(STD_INPUT_HANDLE);
  start.hStdOutput = write_end;
  start.hStdError = ::GetStdHandle(STD_ERROR_HANDLE);
  PROCESS_INFORMATION child{};
  if (!::CreateProcessW(native(program).c_str(), words.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &start, &child))
    cannot_start(program);
  const Handle process(child.hProcess), thread(child.hThread);
  given.reset();
  std::string text;
  char block[4096];
  for (DWORD n = 0; ::ReadFile(read_end, block, sizeof block, &n, nullptr) && n > 0;) {
    text.append(block, n);
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      line(text.substr(0, end > 0 && text[end - 1] == '\r' ? end - 1 : end));
  }
  if (!text.empty()) line(text);
  ::WaitForSingleObject(child.hProcess, INFINITE);
  DWORD status = 0;
  ::GetExitCodeProcess(child.hProcess, &status);
  constexpr DWORD kException = 0xC0000000;
  if (status < kException) return {static_cast<int>(status), ""};
  char number[16];
  std::snprintf(number, sizeof number, "0x%08lX", static_cast<unsigned long>(status));
  return {static_cast<int>(status & 0xFF) | 128, std::string("exception ") + number};
}

std::string own_program() {
  std::wstring path(32768, L'\0');
  path.resize(::GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return utf8(path);
}

}  // namespace spirograd::io
