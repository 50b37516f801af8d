-- The Lua version of meter.ts. The file that includes it defines `WHOLE`, whether the remaining units that are reported
-- are rounded down.
--
-- `x - x % 1` is the floor of a finite number, and `x + -x % 1` the ceiling of one that is not negative. They need no
-- function, and calls of functions are what a script spends its time on.
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
  local remaining = 0
  if level < capacity then
    remaining = (capacity - level) / unit
    if WHOLE then remaining = remaining - remaining % 1 end
  end
  local retry_after = 0
  if not allowed then
    local wait = (after - capacity) / drain
    retry_after = cost * unit > capacity and huge or time - now + (wait + -wait % 1)
  end
  local reset_after = 0
  if level > 0 then
    local wait = level / drain
    reset_after = time - now + (wait + -wait % 1)
  end
  return allowed, remaining, retry_after, reset_after, time, after
end

local function refund(cells, now, cost)
  local latest = cells[LATEST]
  local time = max(now, latest)
  local drained = (time - latest) * drain
  local level = (cells[USED] * unit + ROUND - ROUND) - drained - cost * unit
  cells[LATEST], cells[USED] = time, level > 0 and level * (1 / unit) or 0
end
