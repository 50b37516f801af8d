-- The twin of meter.ts. Gives a function from how what remains is shown to the algorithm.
-- A row is { latest, used }.
local ceil, huge, tonumber = math.ceil, math.huge, tonumber

local LATEST, USED = 1, 2
-- Adding it and taking it away rounds, for numbers below 2^51.
local ROUND = 6755399441055744

local function until_fits(limit, after, cost)
  if cost * limit.unit > limit.capacity then return huge end
  return ceil((after - limit.capacity) / limit.drain)
end

return function(shown)
  local fine = { row = "<dd", format = "<ddd", bytes = 24 }

  function fine.limit(fields, at)
    local unit = tonumber(fields[at + 2])
    return {
      window = tonumber(fields[at + 1]),
      unit = unit,
      perPart = 1 / unit,
      drain = tonumber(fields[at + 3]),
      capacity = tonumber(fields[at + 4]),
      twin = false,
    }, 4
  end

  function fine.blank(cells)
    cells[LATEST], cells[USED] = -huge, 0
    return cells
  end

  function fine.evaluate(limit, cells, now, cost)
    local unit, drain, capacity = limit.unit, limit.drain, limit.capacity
    local latest = cells[LATEST]
    local time = now > latest and now or latest
    local left = (cells[USED] * unit + ROUND - ROUND) - (time - latest) * drain
    local before = left > 0 and left or 0
    local after = before + cost * unit
    local allowed = after <= capacity
    local level = allowed and after or before
    local remaining = level < capacity and shown((capacity - level) / unit) or 0
    local retry_after = allowed and 0 or time - now + until_fits(limit, after, cost)
    local reset_after = level > 0 and time - now + ceil(level / drain) or 0
    return allowed, remaining, retry_after, reset_after, time, after
  end

  function fine.charge(limit, cells, time, level)
    cells[LATEST] = time
    cells[USED] = level * limit.perPart
  end

  function fine.refund(limit, cells, now, cost)
    local latest = cells[LATEST]
    local time = now > latest and now or latest
    local drained = (time - latest) * limit.drain
    local level = (cells[USED] * limit.unit + ROUND - ROUND) - drained - cost * limit.unit
    cells[LATEST] = time
    cells[USED] = level > 0 and level * limit.perPart or 0
  end

  function fine.coarse()
    return use("coarse-meter")(fine, shown)
  end

  return fine
end
