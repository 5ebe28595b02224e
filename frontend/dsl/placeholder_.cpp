namespace spirograd {}
