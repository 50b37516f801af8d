-- The Lua version of meter.ts. Returns a function that takes how the remaining units are reported.
-- A row is { latest, used }.
local ceil, huge, tonumber = math.ceil, math.huge, tonumber

-- Adding and subtracting this number rounds to an integer, for numbers below 2^51.
local ROUND = 6755399441055744

local function blank(cells)
  cells[1], cells[2] = -huge, 0
  return cells
end

local function until_fits(limit, after, cost)
  if cost * limit.unit > limit.capacity then return huge end
  return ceil((after - limit.capacity) / limit.drain)
end

local function evaluate(limit, cells, now, cost)
  local unit, drain, capacity = limit.unit, limit.drain, limit.capacity
  local latest = cells[1]
  local time = now > latest and now or latest
  local left = (cells[2] * unit + ROUND - ROUND) - (time - latest) * drain
  local before = left > 0 and left or 0
  local after = before + cost * unit
  local allowed = after <= capacity
  local level = allowed and after or before
  local remaining = level < capacity and limit.shown((capacity - level) / unit) or 0
  local retry_after = allowed and 0 or time - now + until_fits(limit, after, cost)
  local reset_after = level > 0 and time - now + ceil(level / drain) or 0
  return allowed, remaining, retry_after, reset_after, time, after
end

local function charge(limit, cells, time, level)
  cells[1], cells[2] = time, level * limit.perPart
end

local function refund(limit, cells, now, cost)
  local latest = cells[1]
  local time = now > latest and now or latest
  local drained = (time - latest) * limit.drain
  local level = (cells[2] * limit.unit + ROUND - ROUND) - drained - cost * limit.unit
  cells[1], cells[2] = time, level > 0 and level * limit.perPart or 0
end

return function(shown)
  local function limit(fields, at)
    local unit = tonumber(fields[at + 2])
    return {
      window = tonumber(fields[at + 1]),
      unit = unit,
      perPart = 1 / unit,
      drain = tonumber(fields[at + 3]),
      capacity = tonumber(fields[at + 4]),
      shown = shown,
      twin = false,
    }, 4
  end

  return {
    row = "<dd",
    format = "<ddd",
    bytes = 24,
    limit = limit,
    blank = blank,
    evaluate = evaluate,
    charge = charge,
    refund = refund,
    coarse = "coarse-meter",
  }
end
