-- The Lua version of leaky-bucket.ts.
local function shown(units)
  return units
end
--- @include "meter"
