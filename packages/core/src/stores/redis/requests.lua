-- The general case: any request. Returns a function that takes the batch and returns what decides its requests.
local keep, rows = use("keep"), use("rows")
local pack, rep, sub, unpack_from = struct.pack, string.rep, string.sub, struct.unpack

local DECIDED, CONFLICT, FAILED, REPEATED = 0, 2, 3, 4
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

return function(batch)
  local now, out = batch.now, batch.out
  -- The operations of the current request, and what was evaluated for each. Reused for each request.
  local limits, costs, at = {}, {}, {}
  local allowed, remaining, retry_after, reset_after, time, level, carry = {}, {}, {}, {}, {}, {}, {}

  local function push(value)
    batch.filled = batch.filled + 1
    out[batch.filled] = value
  end

  local function evaluate(i, cost)
    local limit = limits[i]
    allowed[i], remaining[i], retry_after[i], reset_after[i], time[i], level[i], carry[i] =
      limit.twin.evaluate(limit, at[i].cells, now, cost)
  end

  local function charge(i)
    local limit, row = limits[i], at[i]
    local twin = limit.twin
    if row.stored and twin.outgrown and twin.outgrown(limit, row.cells, allowed[i], carry[i]) then
      rows.grow(twin, row)
    end
    twin.charge(limit, row.cells, time[i], level[i], carry[i])
  end

  -- A row is kept until the quota is full again.
  local function write(i)
    rows.write(limits[i], at[i], now, reset_after[i])
  end

  local function answer(i, passes, wait)
    local filled = batch.filled
    out[filled + 1] = passes and 1 or 0
    out[filled + 2] = remaining[i]
    out[filled + 3] = wait
    out[filled + 4] = reset_after[i]
    batch.filled = filled + 4
  end

  -- Reports whether a cost would be admitted, and what is left, without charging.
  local function tell(i, cost)
    evaluate(i, cost)
    local passes, wait = allowed[i], retry_after[i]
    evaluate(i, 0)
    rows.prolong(limits[i], at[i], now, reset_after[i])
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
        limits[i].twin.refund(limits[i], at[i].cells, now, costs[i])
        evaluate(i, 0)
        write(i)
      end
      tell(i, 1)
    end
  end

  function actions.reset(count)
    for i = 1, count do
      local row = at[i]
      rows.remove(limits[i].twin, row, now)
      row.stored, row.cells = false, limits[i].twin.blank({})
      tell(i, 1)
    end
  end

  -- Undoes the current request: what was written, and the answers from a position on.
  local function fail(from, problem)
    for i = rows.undo and #rows.undo or 0, 1, -1 do redis.pcall(unpack(rows.undo[i])) end
    batch.filled = from - 1
    push(FAILED)
    batch.problems[#batch.problems + 1] = type(problem) == "table" and problem.err or tostring(problem)
  end

  -- `once`: more will be written after it.
  local function decide(action, keys, operations, once)
    local count, from = #operations / 2, batch.filled + 1
    rows.undo = (once or count > 1) and {}
    for i = 1, count do
      limits[i], costs[i] = batch.limits[operations[2 * i - 1]], operations[2 * i]
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
    local from, answers = batch.filled + 1, 2 * #operations
    if known and (type(known) == "table" or not is_record(known)) then
      push(FAILED)
      batch.problems[#batch.problems + 1] = rows.problem(record, known)
    elseif not known or unpack_from("<d", known, UNTIL) <= now then
      if decide(action, keys, operations, true) then
        local packed = pack("<" .. rep("d", answers + 2), now + remembered, now, unpack(out, from + 1, batch.filled))
        local written = redis.pcall("PSETEX", record, keep.ttl(remembered, batch.clock_is_given), fingerprint .. packed)
        if written.err then fail(from, written) end
      end
    elseif sub(known, 1, FINGERPRINT) ~= fingerprint then
      push(CONFLICT)
    else
      push(REPEATED)
      push(has_time(known) and unpack_from("<d", known, TIME) or unpack_from("<d", known, UNTIL) - remembered)
      for i = answers, 1, -1 do push((unpack_from("<d", known, #known + 1 - 8 * i))) end
    end
  end

  return function(action, keys, operations, fingerprint, remembered)
    if fingerprint ~= "" then
      decide_once(action, keys, operations, fingerprint, remembered)
    else
      decide(action, keys, operations, false)
    end
  end
end
