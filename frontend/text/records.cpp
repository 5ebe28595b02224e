// Structs: tuples whose items have names. Definitions see them as their arrays, one after the other.
#include "frontend/base/characters.h"
#include "frontend/base/near_name.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

namespace {

Value made_of(const StructSyntax& record, std::span<const Value>& arrays) {
  std::vector<Value> items;
  for (const Declared& d : record.fields.declared) {
    if (d.record) {
      items.push_back(made_of(*d.record, arrays));
      continue;
    }
    items.push_back(arrays.front());
    arrays = arrays.subspan(1);
  }
  return Value::tuple(std::move(items), &record);
}

// The arguments in the order of the fields.
std::vector<Value> by_field(const DefSyntax& fields, const Call& call) {
  std::vector<const Value*> slots(fields.declared.size(), nullptr);
  std::vector<std::string> names;
  for (const Declared& d : fields.declared) names.emplace_back(d.name);
  if (call.args.size() > slots.size())
    throw Error("SG0404", in_quotes(fields.name) + " has " + std::to_string(slots.size()) + " fields, it is given " +
                              std::to_string(call.args.size()));
  for (size_t j = 0; j < call.args.size(); ++j) slots[j] = &call.args[j];
  for (const auto& [word, value] : call.keywords) {
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end())
      throw Error("SG0404", in_quotes(fields.name) + " has no field " + in_quotes(word)).hint(did_you_mean(word, names));
    const Value*& slot = slots[static_cast<size_t>(at - names.begin())];
    if (slot) throw Error("SG0404", "field " + in_quotes(word) + " is given twice");
    slot = &value;
  }
  std::vector<Value> out;
  for (size_t j = 0; j < slots.size(); ++j) {
    if (!slots[j]) throw Error("SG0404", in_quotes(fields.name) + " needs the field " + in_quotes(names[j]));
    out.push_back(*slots[j]);
  }
  return out;
}

}  // namespace

std::vector<Value> arrays_of(const DefSyntax& def, const std::vector<Value>& args) {
  std::vector<Value> out;
  for (size_t j = 0; j < args.size(); ++j) {
    const Declared& d = def.declared[j];
    if (d.is_function) continue;
    if (args[j].kind == Value::Kind::Function)
      throw Error("SG0103", in_quotes(d.name) + " of " + in_quotes(def.name) + " is declared as " +
                                (d.record ? "a " + std::string(d.record->fields.name) : "an array") + ", given a function")
          .hint("a parameter that is a function is declared " + std::string(d.name) + ": fn");
    if (args[j].record != d.record)
      throw Error("SG0103", in_quotes(d.name) + " of " + in_quotes(def.name) + " is declared " +
                                (d.record ? std::string(d.record->fields.name) : "as an array") + ", given " +
                                describe(args[j]));
    if (d.record)
      leaves(args[j], out);
    else
      out.push_back(args[j]);
  }
  return out;
}

std::vector<Function> functions_of(const DefSyntax& def, const std::vector<Value>& args) {
  std::vector<Function> out;
  for (size_t j = 0; j < args.size(); ++j) {
    if (!def.declared[j].is_function) continue;
    if (args[j].kind != Value::Kind::Function)
      throw Error("SG0103", in_quotes(def.declared[j].name) + " of " + in_quotes(def.name) +
                                " is declared as a function, given " + describe(args[j]))
          .hint("the name of a def or of an operation, or fn(x) => ..");
    out.push_back(args[j].function);
  }
  return out;
}

void bind_functions(const DefSyntax& def, std::span<const Function> functions, Env& env) {
  for (const Declared& d : def.declared) {
    if (!d.is_function) continue;
    Value v;
    v.kind = Value::Kind::Function;
    v.function = functions.front();
    functions = functions.subspan(1);
    bind(env, d.name, std::move(v));
  }
}

void bind_params(const DefSyntax& def, std::span<const Value> arrays, Env& env) {
  for (const Declared& d : def.declared) {
    if (d.is_function) continue;
    std::span<const Value> own = arrays.subspan(0, d.arrays);
    bind(env, d.name, d.record ? made_of(*d.record, own) : own[0]);
    arrays = arrays.subspan(d.arrays);
  }
}

const Value& field_of(const Value& record, std::string_view name) {
  const std::vector<Declared>& fields = record.record->fields.declared;
  std::vector<std::string> names;
  for (size_t j = 0; j < fields.size(); ++j) {
    if (fields[j].name == name) return record.items[j];
    names.emplace_back(fields[j].name);
  }
  throw Error("SG0402", describe(record) + " has no field " + in_quotes(name)).hint(did_you_mean(name, names));
}

// What is open takes the element type that the field declares, or that another field gives the type parameter.
Value Elaborator::construct(const StructSyntax& record, const Call& call) {
  const DefSyntax& fields = record.fields;
  std::vector<Value> arrays = arrays_of(fields, by_field(fields, call));
  std::map<std::string_view, DType> met;
  for (size_t j = 0; j < arrays.size(); ++j)
    if (arrays[j].is_array()) met.try_emplace(fields.params[j].type.parameter, arrays[j].expr.dtype());
  std::vector<Type> types;
  for (size_t j = 0; j < arrays.size(); ++j) {
    const TypeSyntax& declared = fields.params[j].type;
    const bool open = !declared.parameter.empty();
    const DType want = !open                              ? declared.dtype
                       : met.contains(declared.parameter) ? met[declared.parameter]
                                                          : arrays[j].usual_dtype();
    arrays[j] =
        Value::array(arrays[j].may_become(want) ? materialise(arrays[j], want) : array_of(arrays[j], fields.params[j].name));
    types.push_back(arrays[j].expr.type());
  }
  Env env = nested({});
  try {
    bind_types(*this, fields, types, {}, env);
  } catch (Error& e) {
    e.notes.push_back(in_quotes(fields.name) + " is defined in " + source_.where(fields.place, call.ast.place.file));
    e.loc = source_.loc(call.ast.place);
    e.source_line = source_.line(call.ast.place);
    throw;
  }
  std::span<const Value> all = arrays;
  return made_of(record, all);
}

}  // namespace spirograd::text
