-- One call decides a batch of requests, each on its own and each all or nothing. The only Lua that touches keys.
--
-- KEYS      the keys of the requests, in order: of each, the row of each operation, then the record of its
--           idempotency key if it has one. In a cluster only the first is declared, and routes the call to the
--           node that has them all; the others stand at the beginning of ARGV.
-- ARGV[#]   the plan, in JSON:
--             now        the time in microseconds, if it is not to be Redis's own
--             void_from  from this time on, nothing of it counts any more
--             limits     the limits that the requests name, by their place here
--             runs       requests of the same shape that follow each other, each run as
--                        [action, how many, void_from or 0, [limit, cost, limit, cost, …]], and for a request with an
--                        idempotency key also its fingerprint and for how many microseconds it is remembered
--
-- Answers doubles, packed: the time, and for each request a status and, if that is 0, for each of its operations
-- allowed, remaining, retry_after and reset_after. If any request failed: a list of that and their messages.
local call, pack, unpack_from = redis.call, struct.pack, struct.unpack
local ceil, floor, min, rep, sub = math.ceil, math.floor, math.min, string.rep, string.sub

local DECIDED, VOID, CONFLICT, FAILED = 0, 1, 2, 3

-- Milliseconds that a row is kept after it has become blank, and at most.
local MARGIN = 1000
local LONGEST = 3000000000000

local FINGERPRINT = 43
-- Rows that grow are read by so many bytes at a time.
local PAGE = 1024

local plan = cjson.decode(ARGV[#ARGV])
local declared = #KEYS
local now = plan.now
if not now then
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end
for _, limit in ipairs(plan.limits) do
  local algorithm = use(limit.algorithm)
  limit.twin = limit.coarse and algorithm.coarse or algorithm
end

local function key_at(i)
  return i <= declared and KEYS[i] or ARGV[i - declared]
end

local function no_row(name)
  error({ err = "WRONGTYPE " .. sub(name, 1, 80) .. " does not hold what Headgate keeps there" }, 0)
end

-- A row that grows: its header at hand, its ring read as it is asked for. What is written stays in the table.
local function read_growing(twin, name)
  local first = call("GETRANGE", name, 0, PAGE - 1)
  if first == "" then return nil end
  local header = 8 * twin.header
  if #first < header then no_row(name) end
  local pages = { [0] = first }
  local cells = { unpack_from("<" .. rep("d", twin.header), first) }
  cells[twin.header + 1] = nil
  return setmetatable(cells, {
    __index = function(_, i)
      local at = 8 * (i - 1)
      local page = floor(at / PAGE)
      local bytes = pages[page]
      if not bytes then
        bytes = call("GETRANGE", name, page * PAGE, page * PAGE + PAGE - 1)
        pages[page] = bytes
      end
      return (unpack_from("<d", bytes, at % PAGE + 1))
    end,
  })
end

-- The second answer says whether the row is stored; if not, it is a blank one.
local function read(twin, name)
  if not twin.format then
    local cells = read_growing(twin, name)
    if cells then return cells, true end
  else
    local value = call("GET", name)
    if value then
      if #value ~= twin.size then no_row(name) end
      return { unpack_from(twin.format, value) }, true
    end
  end
  return twin.blank(), false
end

local function packed_header(twin, cells)
  return pack("<" .. rep("d", twin.header), unpack(cells, 1, twin.header))
end

local function write(twin, name, cells, reset_after)
  local ttl = min(ceil(reset_after / 1000) + MARGIN, LONGEST)
  if twin.format then
    call("PSETEX", name, ttl, pack(twin.format, cells[1], cells[2], cells[3]))
  elseif getmetatable(cells) then
    call("SETRANGE", name, 0, packed_header(twin, cells))
    for i in pairs(cells) do
      if i > twin.header and (i - twin.header) % twin.width == 1 then
        call("SETRANGE", name, 8 * (i - 1), pack("<dd", cells[i], cells[i + 1]))
      end
    end
    call("PEXPIRE", name, ttl)
  else
    call("PSETEX", name, ttl, pack("<" .. rep("d", #cells), unpack(cells)))
  end
end

-- Makes a ring twice as long: turned so that it begins with its head, and room behind it.
local function grow(twin, name, cells)
  local ring = call("GETRANGE", name, 8 * twin.header, -1)
  local turn = 8 * twin.width * cells[twin.head]
  cells[twin.capacity] = 2 * cells[twin.capacity]
  cells[twin.head] = 0
  local turned = sub(ring, turn + 1) .. sub(ring, 1, turn)
  call("SET", name, packed_header(twin, cells) .. turned .. rep("\0", #ring), "KEEPTTL")
  return read_growing(twin, name)
end

local out, filled = { now }, 1

local function answer(allowed, remaining, retry_after, reset_after)
  out[filled + 1] = allowed and 1 or 0
  out[filled + 2] = remaining
  out[filled + 3] = retry_after
  out[filled + 4] = reset_after
  filled = filled + 4
end

-- The operations of the request in hand, and what was evaluated for each.
local limits, costs, names, rows, stored = {}, {}, {}, {}, {}
local allowed, remaining, retry_after, reset_after, time, level, carry = {}, {}, {}, {}, {}, {}, {}

local function evaluate(i, cost)
  local limit = limits[i]
  allowed[i], remaining[i], retry_after[i], reset_after[i], time[i], level[i], carry[i] =
    limit.twin.evaluate(limit, rows[i], now, cost)
end

local function charge(i)
  local limit, cells = limits[i], rows[i]
  local twin = limit.twin
  if stored[i] and twin.outgrown and twin.outgrown(limit, cells, allowed[i], carry[i]) then
    cells = grow(twin, names[i], cells)
    rows[i] = cells
  end
  twin.charge(limit, cells, time[i], level[i], carry[i])
  return twin, cells
end

-- How a key stands: whether a cost would pass, and what is left as it is.
local function tell(i, cost)
  evaluate(i, cost)
  local passes, wait = allowed[i], retry_after[i]
  evaluate(i, 0)
  answer(passes, remaining[i], wait, reset_after[i])
end

local actions = {}

function actions.take(count)
  local all = true
  for i = 1, count do
    evaluate(i, costs[i])
    all = all and allowed[i]
  end
  if all then
    for i = 1, count do
      if costs[i] > 0 then
        local twin, cells = charge(i)
        write(twin, names[i], cells, reset_after[i])
      end
      answer(true, remaining[i], 0, reset_after[i])
    end
  else
    for i = 1, count do
      if allowed[i] then tell(i, costs[i]) else answer(false, remaining[i], retry_after[i], reset_after[i]) end
    end
  end
end

function actions.peek(count)
  for i = 1, count do tell(i, costs[i]) end
end

function actions.penalize(count)
  for i = 1, count do
    if costs[i] > 0 then
      evaluate(i, costs[i])
      local twin, cells = charge(i)
      evaluate(i, 0)
      write(twin, names[i], cells, reset_after[i])
    end
    tell(i, 1)
  end
end

function actions.refund(count)
  for i = 1, count do
    local limit = limits[i]
    if stored[i] then
      limit.twin.refund(limit, rows[i], now, costs[i])
      evaluate(i, 0)
      write(limit.twin, names[i], rows[i], reset_after[i])
    end
    tell(i, 1)
  end
end

function actions.reset(count)
  for i = 1, count do
    if stored[i] then
      call("DEL", names[i])
      rows[i] = limits[i].twin.blank()
    end
    tell(i, 1)
  end
end

local function decide(action, first_key, operations, count)
  for i = 1, count do
    local limit = plan.limits[operations[2 * i - 1]]
    local name = key_at(first_key + i - 1)
    limits[i], costs[i], names[i] = limit, operations[2 * i], name
    rows[i], stored[i] = read(limit.twin, name)
  end
  filled = filled + 1
  out[filled] = DECIDED
  actions[action](count)
end

-- A record is the request's fingerprint, the time until which it counts, and the answers.
local function decide_once(action, first_key, operations, count, fingerprint, remembered)
  local record = key_at(first_key + count)
  local known = call("GET", record)
  local from = filled + 1
  if known and unpack_from("<d", known, FINGERPRINT + 1) <= now then known = false end
  if not known then
    decide(action, first_key, operations, count)
    local answers = pack("<" .. rep("d", filled - from + 1), now + remembered, unpack(out, from + 1, filled))
    call("PSETEX", record, ceil(remembered / 1000) + MARGIN, fingerprint .. answers)
  elseif sub(known, 1, FINGERPRINT) ~= fingerprint then
    filled = from
    out[filled] = CONFLICT
  else
    local answers = { unpack_from("<" .. rep("d", 4 * count), known, FINGERPRINT + 9) }
    out[from] = DECIDED
    for i = 1, 4 * count do out[from + i] = answers[i] end
    filled = from + 4 * count
  end
end

local problems = {}
local next_key = 1
for _, run in ipairs(plan.runs) do
  local action, requests, void_from, operations, fingerprint, remembered = unpack(run)
  local count = #operations / 2
  local decider = fingerprint and decide_once or decide
  local is_void = (void_from > 0 and now >= void_from) or (plan.void_from and now >= plan.void_from)
  for _ = 1, requests do
    local before = filled
    if is_void then
      filled = before + 1
      out[filled] = VOID
    else
      local ok, problem = pcall(decider, action, next_key, operations, count, fingerprint, remembered)
      if not ok then
        filled = before + 1
        out[filled] = FAILED
        problems[#problems + 1] = type(problem) == "table" and problem.err or tostring(problem)
      end
    end
    next_key = next_key + count + (fingerprint and 1 or 0)
  end
end

-- In slices: Lua can hand only so many values to a function.
local slices = {}
for from = 1, filled, 256 do
  local to = min(from + 255, filled)
  slices[#slices + 1] = pack("<" .. rep("d", to - from + 1), unpack(out, from, to))
end
local packed = table.concat(slices)
if #problems == 0 then return packed end
return { packed, unpack(problems, 1, min(#problems, 1000)) }
