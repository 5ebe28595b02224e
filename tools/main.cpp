// The command-line tool; all of it is in tools/cli.
#include "tools/cli/tool.h"

int main(int argc, char** argv) { return spirograd::cli::run_tool({argv + 1, argv + argc}); }
