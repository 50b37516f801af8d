-- The twin of bucketed-window.ts.
return use("queue")
