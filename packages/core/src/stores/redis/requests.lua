-- Decides a batch of any requests, each on its own and each all or nothing.
--
-- KEYS   the keys of the requests in order: for each, the rows of its operations, then the record of its idempotency
--        key if it has one, or else, if it adds an entry to the journal, the record of the request that ends it. After
--        those of all requests: the keys of each part of the journal that is used, which journal.lua explains. A batch for a
--        cluster node declares none, because they belong to many slots; they are at the end of ARGV.
-- ARGV   packed, numbers as doubles and texts with a zero behind them:
--          the time from which on nothing of this counts any more, or 0
--          how many limits there are, and of each: its twin's name, and what that reads
--          how many parts of the journal are used
--          how many runs there are (requests of the same shape that follow each other), and of each: action, how
--          many requests, the time from which on they are void or 0, how many operations, of each the number of its
--          limit and its cost (to settle: what is charged in addition, or refunded if it is negative, and until when),
--          a fingerprint or "", for how many microseconds that is remembered (negated if a denial is not), what becomes
--          of the request's entry in the journal ("add", "end" or ""), and for each request and each of its operations on slots: the reservation that
--          holds them or "", and the microseconds of its lease; then of the entry: how many parts of the
--          journal come before its own, its id, and if it is added its duration in milliseconds and its text; id and text
--          have their length before them
--        the time in microseconds; without it, or if it is empty, Redis's own counts
--- @include "time"
--- @include "keep"
--- @include "rows"
--- @include "answers"

local DECIDED, VOID, CONFLICT, FAILED, REPEATED, OUTSIDE = -1, -2, -3, -4, -5, -6
local FINGERPRINT = 43
-- Where in a record its expiry and the time of the decision start. The answers are at the end.
local UNTIL, TIME = FINGERPRINT + 1, FINGERPRINT + 9

local function is_record(value)
  return #value > FINGERPRINT + 16 and (#value - FINGERPRINT) % 8 == 0
end

local packed = ARGV[1]
-- What is answered is filled in as requests are decided.
local out, filled, problems = { now }, 1, nil
local known_limits = {}
-- The operations of the current request, and what was evaluated for each. Reused for each request.
local limits, costs, at, ids, for_us = {}, {}, {}, {}, {}
-- To settle: until when each operation may be refunded.
local untils = {}
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
  if twin.LEASES then return twin.take_slots(row.cells, time[i], costs[i], carry[i]) end
  if row.stored and twin.GROWTH and twin.outgrown(row.cells, allowed[i], carry[i]) then
    rows.grow(twin.GROWTH, row)
  end
  twin.charge(row.cells, time[i], level[i], carry[i])
end

-- A row is kept until the quota is full again. Leases are written as they change.
local function write(i)
  if limits[i].twin.LEASES then return end
  rows.write(limits[i], at[i], reset_after[i])
end

local function answer(i, passes, wait)
  out[filled + 1] = passes and 1 or 0
  out[filled + 2] = remaining[i]
  out[filled + 3] = wait
  out[filled + 4] = reset_after[i]
  filled = filled + 4
  if limits[i].twin.LEASES then push(level[i]) end
end

-- Reports whether a cost would be admitted, and what is left, without charging.
local function tell(i, cost)
  evaluate(i, cost)
  local passes, wait = allowed[i], retry_after[i]
  evaluate(i, 0)
  if not limits[i].twin.LEASES then rows.prolong(limits[i], at[i], reset_after[i]) end
  answer(i, passes, wait)
end

local actions = {}
-- Whether the current request was allowed as a whole.
local admitted

function actions.take(count)
  local all = true
  for i = 1, count do
    evaluate(i, costs[i])
    all = all and allowed[i]
  end
  admitted = all
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

function actions.takeFirst(count)
  admitted = false
  for i = 1, count do
    if not admitted then evaluate(i, costs[i]) end
    if admitted or not allowed[i] then
      tell(i, costs[i])
    else
      admitted = true
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

function actions.charge(count)
  for i = 1, count do
    if costs[i] == 0 then
      tell(i, 0)
    else
      evaluate(i, costs[i])
      local passes, wait = allowed[i], 0
      charge(i)
      if not passes then
        evaluate(i, costs[i])
        wait = retry_after[i]
      end
      evaluate(i, 0)
      write(i)
      answer(i, passes, wait)
    end
  end
end

local function penalize(i, cost)
  evaluate(i, cost)
  charge(i)
  evaluate(i, 0)
  write(i)
end

local function refund(i, cost)
  twin_of(i).refund(at[i].cells, now, cost)
  evaluate(i, 0)
  write(i)
end

function actions.penalize(count)
  for i = 1, count do
    if costs[i] > 0 then penalize(i, costs[i]) end
    tell(i, 1)
  end
end

function actions.refund(count)
  for i = 1, count do
    if at[i].stored then refund(i, costs[i]) end
    tell(i, 1)
  end
end

function actions.settle(count)
  for i = 1, count do
    if costs[i] > 0 then
      penalize(i, costs[i])
    elseif costs[i] < 0 and at[i].stored and now < untils[i] then
      refund(i, -costs[i])
    end
    tell(i, 1)
  end
end

function actions.reset(count)
  for i = 1, count do
    local row, twin = at[i], limits[i].twin
    rows.remove(twin, row)
    row.stored, row.cells = false, twin.LEASES and leases.none(row.name) or twin.blank({})
    tell(i, 1)
  end
end

function actions.extend(count)
  for i = 1, count do
    local passes, wait = twin_of(i).extend_slots(at[i].cells, now, costs[i])
    evaluate(i, 0)
    answer(i, passes, wait)
  end
end

function actions.release(count)
  for i = 1, count do
    twin_of(i).release_slots(at[i].cells, now)
    at[i].cells:forget_holder()
    tell(i, 1)
  end
end

local function report(problem)
  push(FAILED)
  problems = problems or {}
  problems[#problems + 1] = problem
end

-- Undoes what the current request has written.
local function undo()
  for i = rows.undo and #rows.undo or 0, 1, -1 do redis.pcall(unpack(rows.undo[i])) end
end

-- Undoes the current request: what was written, and the answers from a position on.
local function fail(from, problem)
  undo()
  filled = from - 1
  report(type(problem) == "table" and problem.err or tostring(problem))
end

-- `once`: more will be written after it.
local function decide(action, keys, operations, once)
  local count, from = #operations / 2, filled + 1
  rows.undo = (once or count > 1 or known_limits[operations[1]].twin.LEASES) and {}
  for i = 1, count do
    limits[i], costs[i] = known_limits[operations[2 * i - 1]], operations[2 * i]
    if limits[i].is_outside then
      push(OUTSIDE)
      return false
    end
    at[i] = at[i] or { cells = {} }
    local problem = rows.read(limits[i].twin, keys[i], at[i], ids[i], for_us[i])
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

-- How long a part of the journal outlives the last addition to it, in milliseconds, as in journal.lua; and the parts of
-- this call.
local JOURNAL_KEPT = clock_is_given and 86400000 or 7200000
local kept_parts, has_claims, deadlines = {}, {}, {}

-- Adds an entry for the request whose answers start at a position. If that fails, or there is such an entry, undoes the
-- request and returns false.
local function add_entry(from, part, id, ms, text)
  local ends, texts = KEYS[part], KEYS[part + 1]
  local deadline = deadlines[ms] or string.format("%.17g", now + ms * 1000)
  deadlines[ms] = deadline
  local written = redis.pcall("ZADD", ends, "NX", deadline, id)
  if written == 0 then
    undo()
    filled = from - 1
    push(VOID)
    return false
  end
  if written == 1 then
    written = redis.pcall("HSET", texts, id, text)
    if type(written) == "table" then redis.pcall("ZREM", ends, id) end
  end
  if type(written) == "table" then
    fail(from, written)
    return false
  end
  if not kept_parts[ends] then
    kept_parts[ends] = true
    redis.pcall("PEXPIRE", ends, JOURNAL_KEPT)
    redis.pcall("PEXPIRE", texts, JOURNAL_KEPT)
  end
  return true
end

-- Takes, and adds an entry if that is allowed. A request that is repeated finds the entry, or the record of its end.
local function decide_and_add(action, keys, operations, part, id, ms, text)
  local from = filled + 1
  if call("EXISTS", keys[#operations / 2 + 1]) == 1 then
    push(VOID)
  elseif decide(action, keys, operations, true) and admitted then
    add_entry(from, part, id, ms, text)
  end
end

-- An entry that could not be removed does no harm: a process that cleans up finds its record.
local function remove_entry(part, id)
  redis.pcall("ZREM", KEYS[part], id)
  redis.pcall("HDEL", KEYS[part + 1], id)
  local claims = KEYS[part + 2]
  if has_claims[claims] == nil then has_claims[claims] = redis.pcall("EXISTS", claims) ~= 0 end
  if has_claims[claims] then redis.pcall("HDEL", claims, id) end
end

-- A record is the fingerprint of the request, its expiry, the time of the decision, and the answers. Returns whether the
-- request has been decided, now or before. With `text`, adds an entry to the journal if the request is allowed now.
local function decide_once(action, keys, operations, fingerprint, remembered, part, id, ms, text)
  local record = keys[#operations / 2 + 1]
  local forgets_denial = remembered < 0
  remembered = math.abs(remembered)
  local known = redis.pcall("GET", record)
  local from, numbers = filled + 1, 2 * #operations
  for i = 1, #operations, 2 do
    if known_limits[operations[i]].twin.LEASES then numbers = numbers + 1 end
  end
  if known and (type(known) == "table" or not is_record(known)) then
    report(problem_with(record, known))
    return false
  elseif not known or unpack_from("<d", known, UNTIL) <= now then
    if not decide(action, keys, operations, true) then return false end
    if forgets_denial and not admitted then return true end
    local is_added = text and admitted
    if is_added and not add_entry(from, part, id, ms, text) then return false end
    local record_of = pack("<" .. rep("d", numbers + 2), now + remembered, now, unpack(out, from + 1, filled))
    local written = redis.pcall("PSETEX", record, ttl_of(remembered), fingerprint .. record_of)
    if written.err then
      fail(from, written)
      if is_added then remove_entry(part, id) end
    end
    return not written.err
  elseif sub(known, 1, FINGERPRINT) ~= fingerprint then
    push(CONFLICT)
  else
    push(REPEATED)
    -- Version 0.1 did not store the time of the decision.
    local has_time = #known == FINGERPRINT + 16 + 8 * numbers
    push(has_time and unpack_from("<d", known, TIME) or unpack_from("<d", known, UNTIL) - remembered)
    for i = numbers, 1, -1 do push((unpack_from("<d", known, #known + 1 - 8 * i))) end
  end
  return true
end

local end_of_all, count, at_byte = unpack_from("<dd", packed)
for i = 1, count do
  local name
  name, at_byte = unpack_from("s", packed, at_byte)
  local limit = { twin = use(name), at = at_byte, window = unpack_from("<d", packed, at_byte) }
  at_byte = limit.twin.read_limit(packed, at_byte)
  limit.twin.limit = limit
  -- The client expected another time: it sends the windows around this one.
  limit.is_outside = limit.twin.covers and not limit.twin.covers(now)
  known_limits[i] = limit
end

local declared, next_key = #KEYS, 1
local parts, runs
parts, runs, at_byte = unpack_from("<dd", packed, at_byte)
local first_part = declared - 3 * parts + 1
for _ = 1, runs do
  local action, requests, void_from, count
  action, requests, void_from, count, at_byte = unpack_from("<sddd", packed, at_byte)
  local operations, keys = {}, {}
  for i = 1, 2 * count, 2 do
    operations[i], operations[i + 1], at_byte = unpack_from("<dd", packed, at_byte)
    if action == "settle" then untils[(i + 1) / 2], at_byte = unpack_from("<d", packed, at_byte) end
  end
  local fingerprint, remembered, entry, part, id, ms, text
  fingerprint, remembered, entry, at_byte = unpack_from("<sds", packed, at_byte)
  local width = (fingerprint ~= "" or entry == "add") and count + 1 or count
  local is_void = (void_from > 0 and now >= void_from) or (end_of_all > 0 and now >= end_of_all)
  for _ = 1, requests do
    for i = 1, width do
      keys[i] = declared > 0 and KEYS[next_key] or ARGV[2 + next_key]
      next_key = next_key + 1
    end
    for i = 1, count do
      if known_limits[operations[2 * i - 1]].twin.LEASES then
        ids[i], for_us[i], at_byte = unpack_from("<sd", packed, at_byte)
      end
    end
    if entry ~= "" then
      part, id, at_byte = unpack_from("<ddc0", packed, at_byte)
      part = first_part + 3 * part
    end
    if entry == "add" then ms, text, at_byte = unpack_from("<ddc0", packed, at_byte) end
    if is_void then
      push(VOID)
    elseif fingerprint ~= "" then
      local is_decided = decide_once(action, keys, operations, fingerprint, remembered, part, id, ms, text)
      if is_decided and entry == "end" then remove_entry(part, id) end
    elseif entry == "add" then
      decide_and_add(action, keys, operations, part, id, ms, text)
    else
      decide(action, keys, operations, false)
    end
  end
end

return answers(out, filled, problems)
