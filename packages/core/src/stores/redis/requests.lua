-- Decides a batch of any requests, each on its own and each all or nothing.
--
-- KEYS   the keys of the requests in order: for each, the rows of its operations, then the record of its idempotency
--        key if it has one. A batch for a cluster node declares none, because they belong to many slots; they are at
--        the end of ARGV.
-- ARGV   packed, numbers as doubles and texts with a zero behind them:
--          the time from which on nothing of this counts any more, or 0
--          how many limits there are, and of each: its twin's name, and what that reads
--          how many runs there are (requests of the same shape that follow each other), and of each: action, how
--          many requests, the time from which on they are void or 0, how many operations, of each the number of its
--          limit and its cost, a fingerprint or "", and for how many microseconds that is remembered
--        the time in microseconds; without it, or if it is empty, Redis's own counts
--- @include "time"
--- @include "keep"
--- @include "rows"
--- @include "answers"

local DECIDED, VOID, CONFLICT, FAILED, REPEATED = 0, 1, 2, 3, 4
local FINGERPRINT = 43
-- Where in a record its expiry and the time of the decision start. The answers, 32 bytes each, are at the end.
local UNTIL, TIME = FINGERPRINT + 1, FINGERPRINT + 9

-- Version 0.1 did not store the time of the decision.
local function has_time(record)
  return (#record - FINGERPRINT) % 32 == 16
end

local function is_record(value)
  return #value > FINGERPRINT + 16 and (has_time(value) or (#value - FINGERPRINT) % 32 == 8)
end

local packed = ARGV[1]
-- What is answered is filled in as requests are decided.
local out, filled, problems = { now }, 1, nil
local known_limits = {}
-- The operations of the current request, and what was evaluated for each. Reused for each request.
local limits, costs, at = {}, {}, {}
local allowed, remaining, retry_after, reset_after, time, level, carry = {}, {}, {}, {}, {}, {}, {}

local function push(value)
  filled = filled + 1
  out[filled] = value
end

-- The twin of an operation, which decides by the operation's limit from now on.
local function twin_of(i)
  local limit = limits[i]
  local twin = limit.twin
  if twin.limit ~= limit then
    twin.limit = limit
    twin.read_limit(packed, limit.at)
  end
  return twin
end

local function evaluate(i, cost)
  allowed[i], remaining[i], retry_after[i], reset_after[i], time[i], level[i], carry[i] =
    twin_of(i).evaluate(at[i].cells, now, cost)
end

local function charge(i)
  local twin, row = twin_of(i), at[i]
  if row.stored and twin.GROWTH and twin.outgrown(row.cells, allowed[i], carry[i]) then
    rows.grow(twin.GROWTH, row)
  end
  twin.charge(row.cells, time[i], level[i], carry[i])
end

-- A row is kept until the quota is full again.
local function write(i)
  rows.write(limits[i], at[i], reset_after[i])
end

local function answer(i, passes, wait)
  out[filled + 1] = passes and 1 or 0
  out[filled + 2] = remaining[i]
  out[filled + 3] = wait
  out[filled + 4] = reset_after[i]
  filled = filled + 4
end

-- Reports whether a cost would be admitted, and what is left, without charging.
local function tell(i, cost)
  evaluate(i, cost)
  local passes, wait = allowed[i], retry_after[i]
  evaluate(i, 0)
  rows.prolong(limits[i], at[i], reset_after[i])
  answer(i, passes, wait)
end

local actions = {}

function actions.take(count)
  local all = true
  for i = 1, count do
    evaluate(i, costs[i])
    all = all and allowed[i]
  end
  for i = 1, count do
    if not all then
      -- The evaluation includes the request if it fits here, but another operation denied it.
      tell(i, costs[i])
    else
      if costs[i] > 0 then
        charge(i)
        write(i)
      end
      answer(i, true, 0)
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
      charge(i)
      evaluate(i, 0)
      write(i)
    end
    tell(i, 1)
  end
end

function actions.refund(count)
  for i = 1, count do
    if at[i].stored then
      twin_of(i).refund(at[i].cells, now, costs[i])
      evaluate(i, 0)
      write(i)
    end
    tell(i, 1)
  end
end

function actions.reset(count)
  for i = 1, count do
    local row = at[i]
    rows.remove(limits[i].twin, row)
    row.stored, row.cells = false, limits[i].twin.blank({})
    tell(i, 1)
  end
end

local function report(problem)
  push(FAILED)
  problems = problems or {}
  problems[#problems + 1] = problem
end

-- Undoes the current request: what was written, and the answers from a position on.
local function fail(from, problem)
  for i = rows.undo and #rows.undo or 0, 1, -1 do redis.pcall(unpack(rows.undo[i])) end
  filled = from - 1
  report(type(problem) == "table" and problem.err or tostring(problem))
end

-- `once`: more will be written after it.
local function decide(action, keys, operations, once)
  local count, from = #operations / 2, filled + 1
  rows.undo = (once or count > 1) and {}
  for i = 1, count do
    limits[i], costs[i] = known_limits[operations[2 * i - 1]], operations[2 * i]
    at[i] = at[i] or { cells = {} }
    local problem = rows.read(limits[i].twin, keys[i], at[i])
    if problem then
      fail(from, problem)
      return false
    end
  end
  push(DECIDED)
  local done, problem = pcall(actions[action], count)
  if not done then fail(from, problem) end
  return done
end

-- A record is the fingerprint of the request, its expiry, the time of the decision, and the answers.
local function decide_once(action, keys, operations, fingerprint, remembered)
  local record = keys[#operations / 2 + 1]
  local known = redis.pcall("GET", record)
  local from, numbers = filled + 1, 2 * #operations
  if known and (type(known) == "table" or not is_record(known)) then
    report(problem_with(record, known))
  elseif not known or unpack_from("<d", known, UNTIL) <= now then
    if decide(action, keys, operations, true) then
      local record_of = pack("<" .. rep("d", numbers + 2), now + remembered, now, unpack(out, from + 1, filled))
      local written = redis.pcall("PSETEX", record, ttl_of(remembered), fingerprint .. record_of)
      if written.err then fail(from, written) end
    end
  elseif sub(known, 1, FINGERPRINT) ~= fingerprint then
    push(CONFLICT)
  else
    push(REPEATED)
    push(has_time(known) and unpack_from("<d", known, TIME) or unpack_from("<d", known, UNTIL) - remembered)
    for i = numbers, 1, -1 do push((unpack_from("<d", known, #known + 1 - 8 * i))) end
  end
end

local end_of_all, count, at_byte = unpack_from("<dd", packed)
for i = 1, count do
  local name
  name, at_byte = unpack_from("s", packed, at_byte)
  local limit = { twin = use(name), at = at_byte, window = unpack_from("<d", packed, at_byte) }
  at_byte = limit.twin.read_limit(packed, at_byte)
  limit.twin.limit = limit
  known_limits[i] = limit
end

local declared, next_key = #KEYS, 1
local runs
runs, at_byte = unpack_from("<d", packed, at_byte)
for _ = 1, runs do
  local action, requests, void_from, count
  action, requests, void_from, count, at_byte = unpack_from("<sddd", packed, at_byte)
  local operations, keys = {}, {}
  for i = 1, 2 * count, 2 do
    operations[i], operations[i + 1], at_byte = unpack_from("<dd", packed, at_byte)
  end
  local fingerprint, remembered
  fingerprint, remembered, at_byte = unpack_from("<sd", packed, at_byte)
  local is_void = (void_from > 0 and now >= void_from) or (end_of_all > 0 and now >= end_of_all)
  for _ = 1, requests do
    for i = 1, fingerprint == "" and count or count + 1 do
      keys[i] = declared > 0 and KEYS[next_key] or ARGV[2 + next_key]
      next_key = next_key + 1
    end
    if is_void then
      push(VOID)
    elseif fingerprint ~= "" then
      decide_once(action, keys, operations, fingerprint, remembered)
    else
      decide(action, keys, operations, false)
    end
  end
end

return answers(out, filled, problems)
