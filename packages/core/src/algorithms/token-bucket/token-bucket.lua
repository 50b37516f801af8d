-- The Lua version of token-bucket.ts.
local WHOLE = false
--- @include "meter"
