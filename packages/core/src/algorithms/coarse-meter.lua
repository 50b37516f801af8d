-- The Lua version of coarse-meter.ts, included instead of meter.lua for coarse limits.
--- @include "meter-row"

-- Like Math.round: halves are rounded up, and large numbers keep all digits.
local function rounded(value)
  local whole = floor(value)
  return value - whole >= 0.5 and whole + 1 or whole
end

local function parts_in(used)
  return rounded(used * unit)
end

local function until_drained(parts)
  local time = ceil(parts / drain)
  if (time - 1) * drain >= parts then return time - 1 end
  return time * drain >= parts and time or time + 1
end

local function evaluate(cells, now, cost)
  local latest = cells[LATEST]
  local time = max(now, latest)
  local used = parts_in(cells[USED])
  local before = max(0, used - floor((time - latest) * drain))
  local wanted = cost * unit
  local after = before + wanted
  local allowed = after <= capacity
  local level = allowed and after or before
  local remaining = level < capacity and (capacity - level) / unit or 0
  if WHOLE then remaining = floor(remaining) end
  local retry_after, reset_after = 0, 0
  if not allowed then
    retry_after = wanted > capacity and huge or latest + until_drained(used - (capacity - wanted)) - now
  end
  if level > 0 then
    local charged = allowed and cost > 0
    reset_after = (charged and time + until_drained(after) or latest + until_drained(used)) - now
  end
  return allowed, remaining, retry_after, reset_after, time, after
end

local function refund(cells, now, cost)
  local latest = cells[LATEST]
  local time = max(now, latest)
  local level = parts_in(cells[USED]) - floor((time - latest) * drain) - cost * unit
  cells[LATEST], cells[USED] = time, level > 0 and level * (1 / unit) or 0
end
