-- The fast path for the most common requests: one limit, and a row of a few numbers. Rows are read at once where
-- possible, and no table or function is created per request. Gives the same results as requests.lua and rows.lua.
local try, pack, unpack_from = redis.pcall, struct.pack, struct.unpack

local DECIDED, FAILED = 0, 3

-- Decides a number of takes, for the keys from a position on; together, if all of them are in one slot or the server
-- has
-- no slots.
return function(batch, limit, cost, names, from, requests, together)
  local now, out, filled = batch.now, batch.out, batch.filled
  local twin = limit.twin
  local evaluate, charge, format, bytes = twin.evaluate, twin.charge, twin.format, twin.bytes
  local cells, values, written = { 0, 0, 0, 0 }, nil, nil
  if together and requests > 1 then
    values, written = try("MGET", unpack(names, from, from + requests - 1)), {}
    -- A user who may not read many keys at once may still be allowed to read one.
    if values.err then values = nil end
  end
  for i = 1, requests do
    local name = names[from + i - 1]
    local stored, kept
    if values then stored = written[name] or values[i] else stored = try("GET", name) end
    if not stored then
      kept = -math.huge
      twin.blank(cells)
    elseif #stored == bytes then
      kept, cells[1], cells[2], cells[3] = unpack_from(format, stored)
    end
    local problem = not kept and stored
    local allowed, remaining, retry_after, reset_after, time, level, carry
    if kept then
      allowed, remaining, retry_after, reset_after, time, level, carry = evaluate(limit, cells, now, cost)
      local is_charged = allowed and cost > 0
      if is_charged then charge(limit, cells, time, level, carry) end
      if kept < now + reset_after and (is_charged or stored) then
        -- Also without a charge: the limit may have a longer window than the one the row was written under.
        local longer, ttl = use("keep").row(limit, now, reset_after)
        local value = pack(format, longer, cells[1], cells[2], cells[3])
        local done
        if stored then
          done = try("PSETEX", name, ttl, value)
        else
          done = try("SET", name, value, "PX", ttl, "NX")
        end
        -- MGET treats a key of another type as missing.
        if not done then
          problem = ""
        elseif done.err then
          problem = done
        elseif values then
          written[name] = value
        end
      elseif is_charged then
        local value = pack(format, kept, cells[1], cells[2], cells[3])
        local done = try("SETRANGE", name, "0", value)
        if type(done) == "table" then problem = done elseif values then written[name] = value end
      elseif values and not stored and try("EXISTS", name) == 1 then
        problem = ""
      end
    end
    if problem then
      filled = filled + 1
      out[filled] = FAILED
      batch.problems[#batch.problems + 1] = use("rows").problem(name, problem)
    else
      out[filled + 1] = DECIDED
      out[filled + 2] = allowed and 1 or 0
      out[filled + 3] = remaining
      out[filled + 4] = retry_after
      out[filled + 5] = reset_after
      filled = filled + 5
    end
  end
  batch.filled = filled
end
