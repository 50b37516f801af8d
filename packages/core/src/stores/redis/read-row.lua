-- Reads the cells of a row from `stored`, and in `kept` until when Redis keeps it. Sets `problem` if it is not a row.
if not stored then
  kept = -1 / 0
  blank(cells)
elseif #stored == BYTES then
  kept, cells[1], cells[2], cells[3] = unpack_from(FORMAT, stored)
else
  problem = stored
end
