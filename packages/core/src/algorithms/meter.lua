-- The Lua version of meter.ts. The file that includes it defines `shown`, which rounds the
-- remaining units that are reported.
--- @include "meter-row"

-- Adding and subtracting this number rounds to an integer, for numbers below 2^51.
local ROUND = 6755399441055744

local function evaluate(cells, now, cost)
  local latest = cells[LATEST]
  local time = now > latest and now or latest
  local left = (cells[USED] * unit + ROUND - ROUND) - (time - latest) * drain
  local before = left > 0 and left or 0
  local after = before + cost * unit
  local allowed = after <= capacity
  local level = allowed and after or before
  local remaining = level < capacity and shown((capacity - level) / unit) or 0
  local retry_after = 0
  if not allowed then
    retry_after = cost * unit > capacity and huge or time - now + ceil((after - capacity) / drain)
  end
  local reset_after = level > 0 and time - now + ceil(level / drain) or 0
  return allowed, remaining, retry_after, reset_after, time, after
end

local function refund(cells, now, cost)
  local latest = cells[LATEST]
  local time = max(now, latest)
  local drained = (time - latest) * drain
  local level = (cells[USED] * unit + ROUND - ROUND) - drained - cost * unit
  cells[LATEST], cells[USED] = time, level > 0 and level * (1 / unit) or 0
end
