-- Shared by both meters: the fields of a limit, and the row { latest, used }.
local ceil, floor, max = math.ceil, math.floor, math.max
local huge = 1 / 0

local FORMAT, CELLS, BYTES = "<ddd", "<dd", 24
local LATEST, USED = 1, 2

local window, unit, drain, capacity

local function read_limit(packed, at)
  local after
  window, unit, drain, capacity, after = struct.unpack("<dddd", packed, at)
  return after
end

local function blank(cells)
  cells[LATEST], cells[USED] = -huge, 0
  return cells
end

local function charge(cells, time, level)
  cells[LATEST], cells[USED] = time, level * (1 / unit)
end
