-- The Lua version of gcra.ts.
local shown = math.floor
--- @include "meter"
