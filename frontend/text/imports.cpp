#include "frontend/text/imports.h"

#include <algorithm>

#include "frontend/base/characters.h"
#include "frontend/base/near_name.h"
#include "frontend/text/library.h"

namespace spirograd::text {
namespace {

// One reader calls the next: far beyond what people write, and far from the end of the stack.
constexpr size_t kMostOpen = 100;

bool is_absolute(std::string_view path) {
  return path.starts_with('/') || path.starts_with('\\') || (path.size() > 1 && path[1] == ':');
}

std::string beside(std::string_view file, std::string_view path) {
  const size_t folder = is_absolute(path) ? std::string_view::npos : file.find_last_of("/\\");
  return plain_path(folder == std::string_view::npos ? std::string(path)
                                                     : std::string(file.substr(0, folder + 1)) + std::string(path));
}

FileSyntax loaded_library(const Source& source, const Token& what) {
  for (const LibraryFile& file : library())
    if (file.name == what.text) return {"library/" + std::string(file.name) + ".sg", std::string(file.text), true, {}};
  std::vector<std::string> names;
  std::string list;
  for (const LibraryFile& file : library()) {
    names.emplace_back(file.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  std::string help = did_you_mean(what.text, names);
  if (help.empty()) help = "a file is imported by its path: import \"" + std::string(what.text) + ".sg\"";
  throw source.error("SG0410", "there is no library " + in_quotes(what.text), what.place)
      .note("libraries: " + list)
      .hint(help);
}

// `cannot`: what an error says of that path, but for the reason. `named`: by whom it is.
std::string contents(const Source& source, const std::string& path, Place at, const std::string& cannot,
                     const std::string& named) {
  if (!source.load)
    throw source.error("SG0410", cannot + "the program came without files", at)
        .hint("in C++: parse(text, name, text::read_file), or a function of your own that finds files");
  Result<std::string> text = source.load(path);
  if (!text)
    throw source.error("SG0410", cannot + text.error().message, at).hint("the path is relative to the file that " + named);
  return *std::move(text);
}

FileSyntax loaded_file(const Source& source, const Token& what, const std::string& path) {
  const std::string cannot = "the import of " + in_quotes(path) + " cannot be followed: ";
  return {path, contents(source, path, what.place, cannot, "imports"), false, {}};
}

}  // namespace

std::string plain_path(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool rooted = path.starts_with('/');
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (part != ".." || !rooted)
      parts.push_back(part);
  }
  std::string out = rooted ? "/" : "";
  for (size_t j = 0; j < parts.size(); ++j) out += (j ? "/" : "") + std::string(parts[j]);
  return out;
}

int import_file(Source& source, const Token& what) {
  const FileSyntax& reader = source.files[static_cast<size_t>(what.place.file)];
  const bool of_library = what.kind != Token::Kind::String;
  if (what.text.empty()) throw source.error("SG0410", "an import names a file", what.place);
  const std::string name = of_library          ? "library/" + std::string(what.text) + ".sg"
                           : reader.of_library ? std::string(what.text)
                                               : beside(reader.name, what.text);
  for (size_t j = 0; j < source.files.size(); ++j) {
    const FileSyntax& known = source.files[j];
    if (known.of_library != of_library || (j ? known.name : plain_path(known.name)) != name) continue;
    const auto cycle = std::ranges::find(source.open, static_cast<int>(j));
    if (cycle == source.open.end()) return static_cast<int>(j);
    std::string chain;
    for (auto file = cycle; file != source.open.end(); ++file)
      chain += source.files[static_cast<size_t>(*file)].name + " -> ";
    throw source.error("SG0410", "files import each other: " + chain + known.name, what.place)
        .hint("move what both need to a file that imports neither");
  }
  if (source.open.size() >= kMostOpen)
    throw source.error("SG0410", "files import one another more than " + std::to_string(kMostOpen) + " deep", what.place);
  const int made = static_cast<int>(source.files.size());
  source.files.push_back(of_library ? loaded_library(source, what) : loaded_file(source, what, name));
  try {
    parse_source(source);
  } catch (Error& e) {
    if (e.notes.size() < 4) e.notes.push_back("imported at " + source.full(what.place));
    throw;
  }
  return made;
}

OwnKernel::Module load_module(const Source& source, std::string_view path, Place at) {
  const FileSyntax& reader = source.files[static_cast<size_t>(at.file)];
  const std::string name = reader.of_library ? std::string(path) : beside(reader.name, path);
  const std::string cannot = "the kernel " + in_quotes(name) + " cannot be read: ";
  Result<OwnKernel::Module> module = module_of(name, contents(source, name, at, cannot, "names it"));
  if (!module) throw source.error(module.error().code, module.error().message, at);
  return *std::move(module);
}

}  // namespace spirograd::text
