-- Asks Headgate about each request, for deploy/haproxy.cfg. No header of the client is forwarded.
-- Sets txn.headgate_status to the status of the response, or to 0 if there is none, and variables to its body and some
-- of its headers.

local URL = "http://127.0.0.1:8080/api/v1/auth"
local KEY = "YOUR_KEY"
local TIMEOUT_MS = 1000

local HEADERS = {
  ["retry-after"] = "txn.headgate_retry_after",
  ["ratelimit"] = "txn.headgate_ratelimit",
  ["ratelimit-policy"] = "txn.headgate_ratelimit_policy",
}

core.register_action("headgate", { "http-req" }, function(txn)
  txn:set_var("txn.headgate_status", 0)
  local response = core.httpclient():get({
    url = URL,
    timeout = TIMEOUT_MS,
    headers = {
      ["authorization"] = { "Bearer " .. KEY },
      ["x-headgate-dimension"] = { "ip" },
      ["x-headgate-identifier"] = { txn.sf:src() },
      ["x-headgate-endpoint"] = { txn.sf:pathq() },
      ["x-headgate-method"] = { txn.sf:method() },
    },
  })
  if response == nil or response.status == nil then return end
  txn:set_var("txn.headgate_status", response.status)
  txn:set_var("txn.headgate_body", response.body or "")
  for header, variable in pairs(HEADERS) do
    local values = response.headers[header]
    if values ~= nil then txn:set_var(variable, values[0]) end
  end
end, 0)
