-- The Lua version of fixed-window.ts. A row is { known, count }.
local floor, huge, max = math.floor, math.huge, math.max

local KNOWN, COUNT = 1, 2

local function window_at(limit, known, time)
  if limit.anchor == "clock" then return floor(time / limit.window) * limit.window end
  return time < known + limit.window and known or time
end

local fixed = { row = "<dd", format = "<ddd", bytes = 24 }

function fixed.limit(fields, at)
  local window, limit = tonumber(fields[at + 1]), tonumber(fields[at + 2])
  return { window = window, limit = limit, anchor = fields[at + 3], twin = false }, 3
end

function fixed.blank(cells)
  cells[KNOWN], cells[COUNT] = -huge, 0
  return cells
end

function fixed.evaluate(limit, cells, now, cost)
  local known = cells[KNOWN]
  local time = now > known and now or known
  local start = window_at(limit, known, time)
  local before = known >= start and cells[COUNT] or 0
  local after = before + cost
  local allowed = after <= limit.limit
  local count = allowed and after or before
  local left = start + limit.window - now
  local remaining = count < limit.limit and limit.limit - count or 0
  local retry_after = allowed and 0 or (cost > limit.limit and huge or left)
  local reset_after = count > 0 and left or 0
  return allowed, remaining, retry_after, reset_after, limit.anchor == "clock" and time or start, after
end

function fixed.charge(_, cells, time, level)
  cells[KNOWN] = time
  cells[COUNT] = level
end

function fixed.refund(limit, cells, now, cost)
  local known, count = cells[KNOWN], cells[COUNT]
  if known >= window_at(limit, known, max(now, known)) then
    cells[COUNT] = count > cost and count - cost or 0
  end
end

return fixed
