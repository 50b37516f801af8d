-- The Lua version of bucketed-window.ts.
return use("queue")
