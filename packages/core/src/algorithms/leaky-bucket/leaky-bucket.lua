-- The Lua version of leaky-bucket.ts.
local WHOLE = false
--- @include "meter"
