-- The Lua version of sliding-window-counter.ts. A row is { latest, previous, current }.
local floor, huge, max, min = math.floor, math.huge, math.max, math.min
--- @include "products"

local FORMAT, CELLS, BYTES = "<dddd", "<ddd", 32
local LATEST, PREVIOUS, CURRENT = 1, 2, 3
local EPSILON = 2 ^ -52

local window, limit

local function read_limit(packed, at)
  local after
  window, limit, after = struct.unpack("<dd", packed, at)
  return after
end

local function window_start(time)
  return floor(time / window) * window
end

-- What a row says of the window that starts at a time: the uses in the window before it, and in itself.
local function counts_at(start, latest, previous, current)
  local known = window_start(latest)
  if known == start then return previous, current end
  return known == start - window and current or 0, 0
end

local function fits(room, previous, left)
  return room >= 0 and compare_products(previous, left, room, window) <= 0
end

local function remaining_at(previous, current, left)
  local room = limit - current
  local remaining = room - (previous * left) / window
  local whole = max(0, floor(remaining))
  while whole > 0 and not fits(room - whole, previous, left) do whole = whole - 1 end
  while fits(room - whole - 1, previous, left) do whole = whole + 1 end
  local next = whole + 1
  return max(whole, min(remaining, next - next * EPSILON))
end

local function faded_to(room, previous)
  local left = min(window, floor((room * window) / previous))
  while left < window and fits(room, previous, left + 1) do left = left + 1 end
  while left > 0 and not fits(room, previous, left) do left = left - 1 end
  return window - left
end

local function first_fit(previous, current, cost)
  local room = limit - cost
  if room < 0 then return huge end
  if room >= current then return faded_to(room - current, previous) end
  return window + faded_to(room, current)
end

local function blank(cells)
  cells[LATEST], cells[PREVIOUS], cells[CURRENT] = -huge, 0, 0
  return cells
end

local function evaluate(cells, now, cost)
  local latest = cells[LATEST]
  local time = now > latest and now or latest
  local start = window_start(time)
  local previous, before = counts_at(start, latest, cells[PREVIOUS], cells[CURRENT])
  local after = before + cost
  local left = start + window - time
  local allowed = fits(limit - after, previous, left)
  local current = allowed and after or before
  local remaining = remaining_at(previous, current, left)
  local retry_after = allowed and 0 or start + first_fit(previous, before, cost) - now
  local reset_after = current > 0 and start + 2 * window - now or (previous > 0 and start + window - now or 0)
  return allowed, remaining, retry_after, reset_after, time, after, previous
end

local function charge(cells, time, level, carry)
  cells[LATEST] = time
  cells[PREVIOUS] = carry
  cells[CURRENT] = level
end

local function refund(cells, now, cost)
  local time = max(now, cells[LATEST])
  local start = window_start(time)
  local previous, current = counts_at(start, cells[LATEST], cells[PREVIOUS], cells[CURRENT])
  local from_current = min(cost, current)
  cells[LATEST] = time
  cells[PREVIOUS] = max(0, previous - (cost - from_current))
  cells[CURRENT] = current - from_current
end
