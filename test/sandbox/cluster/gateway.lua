-- For HAProxy: sends a copy of the request to ADDRESS, for PERCENT of all. What comes back is nobody's.
local own = {["connection"] = true, ["content-length"] = true, ["transfer-encoding"] = true}

core.register_action("mirror", {"http-req"}, function(txn, address, percent)
    if math.random() * 100 >= tonumber(percent) then return end
    local copy = {url = "http://" .. address .. txn.sf:pathq(), headers = {}, timeout = 5000}
    for name, values in pairs(txn.http:req_get_headers()) do
        if not own[name] then
            copy.headers[name] = {}
            for i = 0, #values do table.insert(copy.headers[name], values[i]) end
        end
    end
    local method, body = txn.sf:method():lower(), txn.sf:req_body()
    if body and #body > 0 then copy.body = body end
    core.register_task(function()
        local client = core.httpclient()
        if client[method] then client[method](client, copy) end
    end)
end, 2)

-- Takes weights, "BACKEND/SERVER WEIGHT" in each line, and says which of the servers are not there.
core.register_service("weights", "http", function(applet)
    local missing = ""
    for backend, server, weight in applet:receive():gmatch("(%S+)/(%S+) (%d+)") do
        local found = core.backends[backend] and core.backends[backend].servers[server]
        if found then found:set_weight(weight) else missing = missing .. backend .. "/" .. server .. " " end
    end
    applet:set_status(200)
    applet:add_header("content-length", tostring(#missing))
    applet:start_response()
    applet:send(missing)
end)
