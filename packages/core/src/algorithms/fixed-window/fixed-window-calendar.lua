-- The Lua version of calendar-window.ts. A row is { start, end, count }. Redis knows no calendars: the limit comes with
-- the boundaries of three consecutive windows around the time that the client expects, and `covers` says whether the
-- time is in one of them.
local huge = math.huge

local FORMAT, CELLS, BYTES = "<dddd", "<ddd", 32
local START, END, COUNT = 1, 2, 3

local window, limit, first, second, third, last

local function read_limit(packed, at)
  local after
  window, limit, first, second, third, last, after = struct.unpack("<dddddd", packed, at)
  return after
end

local function covers(now)
  return now >= first and now < last
end

local function window_at(now)
  if now < second then return first, second end
  if now < third then return second, third end
  return third, last
end

local function blank(cells)
  cells[START], cells[END], cells[COUNT] = -huge, -huge, 0
  return cells
end

local function evaluate(cells, now, cost)
  local start, stop, before = cells[START], cells[END], cells[COUNT]
  if now >= stop then
    start, stop = window_at(now)
    before = 0
  end
  local after = before + cost
  local allowed = after <= limit
  local count = allowed and after or before
  local left = stop - now
  local remaining = count < limit and limit - count or 0
  local retry_after = allowed and 0 or (cost > limit and huge or left)
  local reset_after = count > 0 and left or 0
  return allowed, remaining, retry_after, reset_after, start, after, stop
end

local function charge(cells, time, level, carry)
  cells[START] = time
  cells[END] = carry
  cells[COUNT] = level
end

local function refund(cells, now, cost)
  local count = cells[COUNT]
  if now < cells[END] then cells[COUNT] = count > cost and count - cost or 0 end
end
