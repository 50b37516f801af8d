-- The twin of sliding-window-log.ts.
return use("queue")
