-- The Lua version of fixed-window.ts. A row is { known, count }.
local floor, huge, max = math.floor, math.huge, math.max

local FORMAT, CELLS, BYTES = "<ddd", "<dd", 24
local KNOWN, COUNT = 1, 2

local window, limit, anchor

local function read_limit(packed, at)
  local after
  window, limit, anchor, after = struct.unpack("<dds", packed, at)
  return after
end

local function window_at(known, time)
  if anchor == "clock" then return floor(time / window) * window end
  return time < known + window and known or time
end

local function blank(cells)
  cells[KNOWN], cells[COUNT] = -huge, 0
  return cells
end

local function evaluate(cells, now, cost)
  local known = cells[KNOWN]
  local time = now > known and now or known
  local start = window_at(known, time)
  local before = known >= start and cells[COUNT] or 0
  local after = before + cost
  local allowed = after <= limit
  local count = allowed and after or before
  local left = start + window - now
  local remaining = count < limit and limit - count or 0
  local retry_after = allowed and 0 or (cost > limit and huge or left)
  local reset_after = count > 0 and left or 0
  return allowed, remaining, retry_after, reset_after, anchor == "clock" and time or start, after
end

local function charge(cells, time, level)
  cells[KNOWN] = time
  cells[COUNT] = level
end

local function refund(cells, now, cost)
  local known, count = cells[KNOWN], cells[COUNT]
  if known >= window_at(known, max(now, known)) then
    cells[COUNT] = count > cost and count - cost or 0
  end
end
