-- How a row is stored under a key: eight bytes with the time until which Redis keeps it, then its cells. All are
-- doubles.
local call, pack, unpack_from = redis.call, struct.pack, struct.unpack
local floor, rep, sub = math.floor, string.rep, string.sub

-- Number of cells to read at a time from rows that grow.
local PAGE = 128

-- `undo`, while it is a list: commands that undo what the current request has written, so that a request rejected
-- halfway
-- leaves no charge. Each is a command that Redis has just accepted for the key, with the previous value.
local rows = { undo = false }

local function take_back(...)
  if rows.undo then rows.undo[#rows.undo + 1] = { ... } end
end

--- @include "problem"

-- A row that grows: its header is at hand, and its ring is read on demand. What is written stays in the table.
local function read_growing(growth, name, first)
  local pages = { [0] = first }
  local cells = { unpack_from("<" .. rep("d", growth.header), first, 9) }
  cells[growth.header + 1] = nil
  return setmetatable(cells, {
    __index = function(_, i)
      local page = floor(i / PAGE)
      local bytes = pages[page]
      if not bytes then
        bytes = call("GETRANGE", name, 8 * PAGE * page, 8 * PAGE * (page + 1) - 1)
        pages[page] = bytes
      end
      return (unpack_from("<d", bytes, 8 * (i % PAGE) + 1))
    end,
  })
end

-- Whether a value is as long as its header says.
local function is_growing(growth, name, first)
  if #first < 8 * growth.header + 8 then return false end
  local bytes = #first < 8 * PAGE and #first or call("STRLEN", name)
  return bytes == 8 * (1 + growth.header + growth.width * unpack_from("<d", first, 8 * growth.capacity + 1))
end

--- @include "leases"

-- Reads the row of a key into a reused table, blank if there is none; or returns the problem. Leases are read as one
-- reservation sees them.
function rows.read(twin, name, row, id, for_us)
  row.name, row.stored, row.kept = name, false, -math.huge
  if twin.LEASES then return leases.read(name, row, id, for_us) end
  local value
  if twin.FORMAT then
    value = redis.pcall("GET", name)
    row.value = value
    if value and #value == twin.BYTES then
      local cells = row.cells
      if getmetatable(cells) then cells = {} end
      row.stored, row.cells = true, cells
      row.kept, cells[1], cells[2], cells[3] = unpack_from(twin.FORMAT, value)
      return nil
    end
  else
    value = redis.pcall("GETRANGE", name, 0, 8 * PAGE - 1)
    if value == "" then value = false end
    if value and is_growing(twin.GROWTH, name, value) then
      row.stored, row.cells, row.kept = true, read_growing(twin.GROWTH, name, value), unpack_from("<d", value)
      return nil
    end
  end
  if value then return problem_with(name, value) end
  row.cells = twin.blank({})
end

-- Overwrites a part of a row.
local function overwrite(name, offset, value)
  if rows.undo then
    local former = call("GETRANGE", name, offset, offset + #value - 1)
    call("SETRANGE", name, offset, value)
    take_back("SETRANGE", name, offset, former)
  else
    call("SETRANGE", name, offset, value)
  end
end

local function packed(twin, kept, cells)
  return pack(twin.FORMAT or "<" .. rep("d", #cells + 1), kept, unpack(cells))
end

function rows.write(limit, row, reset_after)
  local twin, cells = limit.twin, row.cells
  local kept, ttl = row.kept, nil
  if kept < now + reset_after then kept, ttl = keep_row(limit.window, reset_after) end
  row.kept = kept
  if not row.stored then
    call("PSETEX", row.name, ttl, packed(twin, kept, cells))
    if rows.undo then take_back("PSETEX", row.name, 1, packed(twin, 0, twin.blank({}))) end
  elseif twin.FORMAT then
    if ttl then
      call("PSETEX", row.name, ttl, packed(twin, kept, cells))
      take_back("PSETEX", row.name, ttl, row.value)
    else
      call("SETRANGE", row.name, 0, packed(twin, kept, cells))
      take_back("SETRANGE", row.name, 0, row.value)
    end
  else
    -- First, because it charges nothing if it is the only command that is rejected.
    if ttl then call("PEXPIRE", row.name, ttl) end
    local header, width = twin.GROWTH.header, twin.GROWTH.width
    overwrite(row.name, 0, pack("<" .. rep("d", header + 1), kept, unpack(cells, 1, header)))
    for i in pairs(cells) do
      if i > header and (i - header) % width == 1 then
        overwrite(row.name, 8 * i, pack("<dd", cells[i], cells[i + 1]))
      end
    end
  end
end

function rows.remove(twin, row)
  if not row.stored then return end
  if twin.LEASES then return leases.remove(row) end
  local former = rows.undo and (twin.FORMAT and row.value or call("GETRANGE", row.name, 0, -1))
  call("DEL", row.name)
  take_back("SET", row.name, former, "PX", math.max(1, math.ceil((row.kept - now) / 1000) + 1000))
end

-- A row that is only read may have to be kept longer than under the limit it was written with.
function rows.prolong(limit, row, reset_after)
  if not row.stored or row.kept >= now + reset_after then return end
  local ttl
  row.kept, ttl = keep_row(limit.window, reset_after)
  -- In this order: if one is rejected, no row claims to be kept longer than it is.
  call("PEXPIRE", row.name, ttl)
  call("SETRANGE", row.name, 0, pack("<d", row.kept))
end

-- Doubles a ring: rotated so that it starts with its head, with room behind it.
function rows.grow(growth, row)
  local cells = row.cells
  local ring = call("GETRANGE", row.name, 8 * growth.header + 8, -1)
  local turn = 8 * growth.width * cells[growth.head]
  cells[growth.capacity] = 2 * cells[growth.capacity]
  cells[growth.head] = 0
  local header = pack("<" .. rep("d", growth.header + 1), row.kept, unpack(cells, 1, growth.header))
  call("SET", row.name, header .. sub(ring, turn + 1) .. sub(ring, 1, turn) .. rep("\0", #ring), "KEEPTTL")
  row.cells = read_growing(growth, row.name, call("GETRANGE", row.name, 0, 8 * PAGE - 1))
end
