-- The reply of a call: packed doubles. The time, and for each request a status (-1 decided, -2 void, -3 conflict, -4
-- failed, -5 repeated, -6 outside of the windows that came with a limit, -7 denied, -8 not decided, because a script for
-- the common case leaves it to requests.lua). A repeated request is followed by
-- the time of its decision. Decided and repeated requests are followed by allowed, remaining, retry_after and
-- reset_after of each operation, and in_use if it is about slots. Shorter, for a take of one cost: if it is denied, the
-- status is followed by remaining, reset_after and retry_after; if it is allowed, there are only remaining, which is not
-- negative, and reset_after. If any request failed, the reply is a list of this and the error messages.
local function answers(out, filled, problems)
  local packed
  -- In slices, because Lua limits the number of arguments of a function.
  for from = 1, filled, 2048 do
    local to = math.min(from + 2047, filled)
    local slice = struct.pack("<" .. string.rep("d", to - from + 1), unpack(out, from, to))
    packed = packed and packed .. slice or slice
  end
  if not problems then return packed end
  return { packed, unpack(problems, 1, math.min(#problems, 1000)) }
end
