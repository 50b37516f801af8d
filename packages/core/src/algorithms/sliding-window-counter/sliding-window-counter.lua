-- The Lua version of sliding-window-counter.ts. A row is { latest, previous, current }.
local floor, huge, max, min = math.floor, math.huge, math.max, math.min
local compare_products = use("products")

local LATEST, PREVIOUS, CURRENT = 1, 2, 3
local EPSILON = 2 ^ -52

local function window_start(limit, time)
  return floor(time / limit.window) * limit.window
end

local function current_at(limit, cells, start)
  return window_start(limit, cells[LATEST]) == start and cells[CURRENT] or 0
end

local function previous_at(limit, cells, start)
  local known = window_start(limit, cells[LATEST])
  if known == start then return cells[PREVIOUS] end
  return known == start - limit.window and cells[CURRENT] or 0
end

local function fits(room, window, previous, left)
  return room >= 0 and compare_products(previous, left, room, window) <= 0
end

local function remaining_at(limit, previous, current, left)
  local window = limit.window
  local room = limit.limit - current
  local remaining = room - (previous * left) / window
  local whole = max(0, floor(remaining))
  while whole > 0 and not fits(room - whole, window, previous, left) do whole = whole - 1 end
  while fits(room - whole - 1, window, previous, left) do whole = whole + 1 end
  local next = whole + 1
  return max(whole, min(remaining, next - next * EPSILON))
end

local function faded_to(room, previous, window)
  local left = min(window, floor((room * window) / previous))
  while left < window and fits(room, window, previous, left + 1) do left = left + 1 end
  while left > 0 and not fits(room, window, previous, left) do left = left - 1 end
  return window - left
end

local function first_fit(limit, previous, current, cost)
  local window = limit.window
  local room = limit.limit - cost
  if room < 0 then return huge end
  if room >= current then return faded_to(room - current, previous, window) end
  return window + faded_to(room, current, window)
end

local counter = { row = "<ddd", format = "<dddd", bytes = 32 }

function counter.limit(fields, at)
  return { window = tonumber(fields[at + 1]), limit = tonumber(fields[at + 2]), twin = false }, 2
end

function counter.blank(cells)
  cells[LATEST], cells[PREVIOUS], cells[CURRENT] = -huge, 0, 0
  return cells
end

function counter.evaluate(limit, cells, now, cost)
  local window = limit.window
  local latest = cells[LATEST]
  local time = now > latest and now or latest
  local start = window_start(limit, time)
  local previous = previous_at(limit, cells, start)
  local before = current_at(limit, cells, start)
  local after = before + cost
  local left = start + window - time
  local allowed = fits(limit.limit - after, window, previous, left)
  local current = allowed and after or before
  local remaining = remaining_at(limit, previous, current, left)
  local retry_after = allowed and 0 or start + first_fit(limit, previous, before, cost) - now
  local reset_after = current > 0 and start + 2 * window - now or (previous > 0 and start + window - now or 0)
  return allowed, remaining, retry_after, reset_after, time, after, previous
end

function counter.charge(_, cells, time, level, carry)
  cells[LATEST] = time
  cells[PREVIOUS] = carry
  cells[CURRENT] = level
end

function counter.refund(limit, cells, now, cost)
  local time = max(now, cells[LATEST])
  local start = window_start(limit, time)
  local previous = previous_at(limit, cells, start)
  local current = current_at(limit, cells, start)
  local from_current = min(cost, current)
  cells[LATEST] = time
  cells[PREVIOUS] = max(0, previous - (cost - from_current))
  cells[CURRENT] = current - from_current
end

return counter
