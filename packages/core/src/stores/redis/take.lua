-- The common request: it takes one cost under one limit whose row is a few numbers. There is one such script for each
-- algorithm, with its functions inlined and its cells in local variables. It creates no table or function for a request,
-- and reads all rows at once if it can. requests.lua decides the same way.
--
-- KEYS   the row of each request. A batch for a node of a cluster declares no keys, because they are in many slots; they
--        are at the end of ARGV.
-- ARGV   packed: the time from which the batch is void, or 0; the cost; 1 if a key occurs twice, otherwise 0; the limit
--        the time in microseconds; if it is missing or empty, the time of Redis
local try, pack, unpack_from = redis.pcall, struct.pack, struct.unpack
--- @include "algorithm"

local VOID, FAILED, OUTSIDE, DENIED = -2, -4, -6, -7

local void_from, cost, repeats = unpack_from("<ddb", ARGV[1])
read_limit(ARGV[1], 18)
--- @include "time"

local names, declared = KEYS, #KEYS
local from, to = 1, declared
if declared == 0 then names, from, to = ARGV, 3, #ARGV end

-- The status of all requests, if they are not even looked at.
local status = void_from > 0 and now >= void_from and VOID
--- @include "window-check"
local cells
-- Of a batch: what is answered, and the rows that were read before any was written.
local out, filled, problems, values
if from < to or status then
  out, filled = { now }, 1
  if declared > 0 and repeats == 0 and not status then
    values = try("MGET", unpack(names))
    -- A user who may not read many keys at once may still be allowed to read one.
    if values.err then values = nil end
  end
end

if status then
  for i = from, to do out[i - from + 2] = status end
  from, filled = to + 1, to - from + 2
end

for i = from, to do
  local name = names[i]
  local stored, kept, problem
  if values then
    stored = values[i]
  else
    stored = try("GET", name)
  end
  --- @include "read-row"
  if kept then
    --- @include "take-row"
    if not problem then
      if allowed then
        if not out then return pack("<ddd", now, remaining, reset_after) end
        out[filled + 1] = remaining
        filled = filled + 2
        out[filled] = reset_after
      else
        if not out then return pack("<ddddd", now, DENIED, remaining, reset_after, retry_after) end
        out[filled + 1] = DENIED
        out[filled + 2] = remaining
        out[filled + 3] = reset_after
        out[filled + 4] = retry_after
        filled = filled + 4
      end
    end
  end
  if problem then
    --- @include "problem"
    if not out then return { pack("<dd", now, FAILED), problem_with(name, problem) } end
    filled = filled + 1
    out[filled] = FAILED
    problems = problems or {}
    problems[#problems + 1] = problem_with(name, problem)
  end
end

--- @include "answers"
return answers(out, filled, problems)
