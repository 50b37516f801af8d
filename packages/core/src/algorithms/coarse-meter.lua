-- The Lua version of coarse-meter.ts. Returns a function of the fine meter, whose rows and limits it shares.
local ceil, floor, huge, max = math.ceil, math.floor, math.huge, math.max

local LATEST, USED = 1, 2

-- Like Math.round: halves are rounded up, and large numbers keep all digits.
local function rounded(value)
  local whole = floor(value)
  return value - whole >= 0.5 and whole + 1 or whole
end

local function parts_in(limit, cells)
  return rounded(cells[USED] * limit.unit)
end

local function until_drained(drain, parts)
  local time = ceil(parts / drain)
  if (time - 1) * drain >= parts then return time - 1 end
  return time * drain >= parts and time or time + 1
end

return function(fine)
  local coarse = { row = fine.row, format = fine.format, bytes = fine.bytes }
  coarse.limit, coarse.blank, coarse.charge = fine.limit, fine.blank, fine.charge

  function coarse.evaluate(limit, cells, now, cost)
    local unit, drain, capacity = limit.unit, limit.drain, limit.capacity
    local latest = cells[LATEST]
    local time = max(now, latest)
    local used = parts_in(limit, cells)
    local before = max(0, used - floor((time - latest) * drain))
    local wanted = cost * unit
    local after = before + wanted
    local allowed = after <= capacity
    local level = allowed and after or before
    local remaining = level < capacity and limit.shown((capacity - level) / unit) or 0
    local retry_after, reset_after = 0, 0
    if not allowed then
      retry_after = wanted > capacity and huge or latest + until_drained(drain, used - (capacity - wanted)) - now
    end
    if level > 0 then
      local charged = allowed and cost > 0
      reset_after = (charged and time + until_drained(drain, after) or latest + until_drained(drain, used)) - now
    end
    return allowed, remaining, retry_after, reset_after, time, after
  end

  function coarse.refund(limit, cells, now, cost)
    local latest = cells[LATEST]
    local time = max(now, latest)
    local level = parts_in(limit, cells) - floor((time - latest) * limit.drain) - cost * limit.unit
    cells[LATEST] = time
    cells[USED] = level > 0 and level * limit.perPart or 0
  end

  return coarse
end
