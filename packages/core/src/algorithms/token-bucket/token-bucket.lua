-- The Lua version of token-bucket.ts.
local function shown(units)
  return units
end
--- @include "meter"
