-- Writes the cells of the row `name` if they have changed, or if the row has to be kept for longer. Sets `problem` if
-- the key is not a row.
if kept < now + reset_after and (is_changed or stored) then
  -- Also without a change: the limit may have a longer window than the one the row was written under.
  --- @include "keep"
  local longer, ttl = keep_row(window, reset_after)
  local value = pack(FORMAT, longer, cells[1], cells[2], cells[3])
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
  end
elseif is_changed then
  local done = try("SETRANGE", name, "8", pack(CELLS, cells[1], cells[2], cells[3]))
  if done ~= BYTES then problem = done end
elseif values and not stored and try("EXISTS", name) == 1 then
  problem = ""
end
