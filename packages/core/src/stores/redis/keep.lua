-- How long Redis keeps what is written.
--
-- `keep.row` tells until when a row is kept whose time to live is too short for it, and that time to live in
-- milliseconds. It is set anew only then: to write cells over others costs less.
--
-- What is told is a second less than the truth: whoever finds that it suffices until the row is blank has that margin.
local MARGIN = 1000000
-- Microseconds that a row is kept longer at most, so that this need not be done for each charge; and at most in all.
local SLACK = 60000000
local LONGEST = 3000000000000000
-- Redis counts a time to live in real time, and a clock given with the call may stand still meanwhile. A key that
-- outlives its use decides as an absent one does, so with such a clock keys live for at least a day (milliseconds).
local LEAST_WITH_GIVEN_CLOCK = 86400000

local keep = {}

-- A time to live in milliseconds, from microseconds.
function keep.ttl(microseconds, clock_is_given)
  local ttl = math.ceil(microseconds / 1000)
  if clock_is_given and ttl < LEAST_WITH_GIVEN_CLOCK then return LEAST_WITH_GIVEN_CLOCK end
  return ttl
end

function keep.row(limit, now, reset_after)
  local kept = math.min(now + reset_after + math.min(limit.window, SLACK), now + LONGEST)
  return kept, keep.ttl(kept + MARGIN - now, limit.clock_is_given)
end

return keep
