-- Any request, whatever it asks for. Gives a function from the batch to what decides its requests.
local rows = use("rows")
local pack, rep, sub, unpack_from = struct.pack, string.rep, string.sub, struct.unpack

local DECIDED, CONFLICT, FAILED = 0, 2, 3
local FINGERPRINT = 43
-- The bytes of a record before its answers, which take 32 each.
local RECORD = FINGERPRINT + 8

return function(batch)
  local now = batch.now
  -- The operations of the request in hand.
  local limits, costs, at = {}, {}, {}

  local function push(value)
    batch.filled = batch.filled + 1
    batch.out[batch.filled] = value
  end

  local function evaluate(i, cost)
    return limits[i].twin.evaluate(limits[i], at[i].cells, now, cost)
  end

  local function charge(i, allowed, time, level, carry)
    local limit, row = limits[i], at[i]
    local twin = limit.twin
    if row.stored and twin.outgrown and twin.outgrown(limit, row.cells, allowed, carry) then rows.grow(twin, row) end
    twin.charge(limit, row.cells, time, level, carry)
  end

  -- A row is kept until it is full again.
  local function write(i, reset_after)
    rows.write(limits[i], at[i], now, reset_after)
  end

  local function write_as_it_is(i)
    local _, _, _, reset_after = evaluate(i, 0)
    write(i, reset_after)
  end

  local function answer(allowed, remaining, retry_after, reset_after)
    push(allowed and 1 or 0)
    push(remaining)
    push(retry_after)
    push(reset_after)
  end

  -- Whether a cost would pass, and what is left as it is.
  local function tell(i, cost)
    local allowed, _, retry_after = evaluate(i, cost)
    local _, remaining, _, reset_after = evaluate(i, 0)
    rows.prolong(limits[i], at[i], now, reset_after)
    answer(allowed, remaining, retry_after, reset_after)
  end

  local actions = {}

  function actions.take(count)
    local asked, all = {}, true
    for i = 1, count do
      asked[i] = { evaluate(i, costs[i]) }
      all = all and asked[i][1]
    end
    for i = 1, count do
      local allowed, remaining, retry_after, reset_after, time, level, carry = unpack(asked[i], 1, 7)
      if all and costs[i] > 0 then
        charge(i, true, time, level, carry)
        write(i, reset_after)
      end
      -- What was evaluated counts the request in if it fits, which is wrong if another operation refused it.
      if all then answer(allowed, remaining, retry_after, reset_after) else tell(i, costs[i]) end
    end
  end

  function actions.peek(count)
    for i = 1, count do tell(i, costs[i]) end
  end

  function actions.penalize(count)
    for i = 1, count do
      if costs[i] > 0 then
        local allowed, _, _, _, time, level, carry = evaluate(i, costs[i])
        charge(i, allowed, time, level, carry)
        write_as_it_is(i)
      end
      tell(i, 1)
    end
  end

  function actions.refund(count)
    for i = 1, count do
      if at[i].stored then
        limits[i].twin.refund(limits[i], at[i].cells, now, costs[i])
        write_as_it_is(i)
      end
      tell(i, 1)
    end
  end

  function actions.reset(count)
    for i = 1, count do
      if at[i].stored then redis.call("DEL", at[i].name) end
      at[i] = { name = at[i].name, cells = limits[i].twin.blank({}), stored = false }
      tell(i, 1)
    end
  end

  local function decide(action, keys, operations)
    local count = #operations / 2
    for i = 1, count do
      limits[i], costs[i] = batch.limits[operations[2 * i - 1]], operations[2 * i]
      local row, problem = rows.read(limits[i].twin, keys[i])
      if not row then
        push(FAILED)
        batch.problems[#batch.problems + 1] = problem
        return false
      end
      at[i] = row
    end
    push(DECIDED)
    actions[action](count)
    return true
  end

  -- A record is the request's fingerprint, the time until which it counts, and the answers.
  local function decide_once(action, keys, operations, fingerprint, remembered)
    local record = keys[#operations / 2 + 1]
    local known = redis.pcall("GET", record)
    local from, answers = batch.filled + 1, 2 * #operations
    if known and (type(known) == "table" or #known <= RECORD or (#known - RECORD) % 32 > 0) then
      push(FAILED)
      batch.problems[#batch.problems + 1] = rows.problem(record, known)
    elseif not known or unpack_from("<d", known, FINGERPRINT + 1) <= now then
      if decide(action, keys, operations) then
        local packed = pack("<" .. rep("d", answers + 1), now + remembered, unpack(batch.out, from + 1, batch.filled))
        redis.call("PSETEX", record, math.ceil(remembered / 1000), fingerprint .. packed)
      end
    elseif sub(known, 1, FINGERPRINT) ~= fingerprint then
      push(CONFLICT)
    else
      push(DECIDED)
      for i = 1, answers do push((unpack_from("<d", known, FINGERPRINT + 1 + 8 * i))) end
    end
  end

  return function(action, keys, operations, fingerprint, remembered)
    if fingerprint ~= "" then
      decide_once(action, keys, operations, fingerprint, remembered)
    else
      decide(action, keys, operations)
    end
  end
end
