-- The Lua version of gcra.ts.
local WHOLE = true
--- @include "meter"
