-- How long Redis keeps what is written.
--
-- `keep.row` returns until when to keep a row whose time to live is too short, and that time to live in milliseconds.
-- It
-- is renewed only then, because overwriting cells costs less.
--
-- The returned time is a second less than the actual one, as a margin for the comparison with when the row is blank.
local MARGIN = 1000000
-- Maximum microseconds by which a row is kept longer, so that it is not renewed with each charge; and the overall
-- maximum.
local SLACK = 60000000
local LONGEST = 3000000000000000
-- Redis counts a time to live in real time, while a clock passed with the call may stand still. A key that outlives its
-- use decides like an absent one, so with such a clock keys live for at least a day (milliseconds).
local LEAST_WITH_GIVEN_CLOCK = 86400000

local keep = {}

-- Converts microseconds to a time to live in milliseconds.
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
