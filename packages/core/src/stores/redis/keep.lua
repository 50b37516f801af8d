-- For how long rows are kept. The time to live is set anew only when it has become too short: to write cells over
-- others costs less.
local keep = {
  -- Microseconds that a row is kept after it has become blank: so many at least, and so many more at most.
  MARGIN = 1000000,
  SLACK = 60000000,
}
local LONGEST = 3000000000000000

-- Until when to keep a row whose time to live must be set, and that in milliseconds.
function keep.longer(limit, now, reset_after)
  local slack = math.min(limit.window, keep.SLACK)
  local longer = math.min(now + reset_after + keep.MARGIN + slack, now + LONGEST)
  return longer, math.ceil((longer - now) / 1000)
end

return keep
