-- The Lua version of products.ts.
local EXACT = 9007199254740992
local SPLITTER = 134217729

local function high_half(value)
  local spread = SPLITTER * value
  return spread - (spread - value)
end

local function rounding_of(a, b, product)
  local a_high, b_high = high_half(a), high_half(b)
  local a_low, b_low = a - a_high, b - b_high
  return a_low * b_low - (product - a_high * b_high - a_low * b_high - a_high * b_low)
end

local function compare_products(a, b, c, d)
  local left, right = a * b, c * d
  if left ~= right or left <= EXACT then return left - right end
  return rounding_of(a, b, left) - rounding_of(c, d, right)
end
