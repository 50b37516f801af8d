-- The Lua version of sliding-window-log.ts.
return use("queue")
