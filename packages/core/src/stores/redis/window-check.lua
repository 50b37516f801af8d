-- The client expected another time: it sends the windows around this one.
if not status and not covers(now) then status = OUTSIDE end
