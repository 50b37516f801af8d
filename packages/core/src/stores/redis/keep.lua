-- How long Redis keeps what is written.
--
-- keep_row reports a second less than the actual time, as a margin for callers that compare it with the time at which
-- the row becomes blank.
local MARGIN = 1000000
-- Maximum microseconds by which a row is kept longer, so that it is not renewed with each charge; and the overall
-- maximum.
local SLACK = 60000000
local LONGEST = 3000000000000000
-- Redis counts a time to live in real time, while a clock passed with the call may stand still. A key that outlives its
-- use decides like an absent one, so with such a clock keys live for at least a day (milliseconds).
local LEAST_WITH_GIVEN_CLOCK = 86400000

-- Converts microseconds to a time to live in milliseconds.
local function ttl_of(microseconds)
  local ttl = math.ceil(microseconds / 1000)
  if clock_is_given and ttl < LEAST_WITH_GIVEN_CLOCK then return LEAST_WITH_GIVEN_CLOCK end
  return ttl
end

-- For a row whose time to live is too short: until when it is kept, and the new time to live in milliseconds. Otherwise
-- the time to live is left alone, because overwriting cells costs less.
local function keep_row(window, reset_after)
  local kept = math.min(now + reset_after + math.min(window, SLACK), now + LONGEST)
  return kept, ttl_of(kept + MARGIN - now)
end
