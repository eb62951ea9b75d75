# A real browser in a test: Debian's Chromium, told what to do over the WebDriver protocol by curl. An element is named by a
# CSS selector, or by an XPath that begins with //.
#
#   browser_begin, browser_end     one browser; BROWSER_DIR is its own, nothing of it is left
#   browser_open URL, browser_click ELEMENT, browser_type ELEMENT TEXT, browser_keys KEY..., browser_text ELEMENT
#   browser_wait SECONDS ELEMENT [TEXT]    until it is visible, and its text has TEXT; browser_gone SECONDS ELEMENT
#   browser_js SCRIPT [ARGUMENT...]        what the function body returns, as JSON
#   browser_theme dark|light, browser_size WIDTH HEIGHT, browser_screenshot FILE
#   browser_log, browser_requests          console and refused content; the addresses asked for, since the last call

browser_begin() {
    BROWSER_DIR=$(mktemp -d /tmp/flagger-browser.XXXXXX)
    mkdir "$BROWSER_DIR/data" "$BROWSER_DIR/home"
    # Both keep files in HOME and TMPDIR otherwise.
    HOME=$BROWSER_DIR/home TMPDIR=$BROWSER_DIR chromedriver --port=0 --allowed-ips=127.0.0.1 \
        >"$BROWSER_DIR/driver.log" 2>&1 </dev/null 3>&- &
    BROWSER_DRIVER=$!
    browser_poll 20 grep -qs 'successfully on port' "$BROWSER_DIR/driver.log" ||
        { cat "$BROWSER_DIR/driver.log" && return 1; }
    BROWSER_URL=http://127.0.0.1:$(sed -n 's/.*successfully on port \([0-9]*\).*/\1/p' "$BROWSER_DIR/driver.log")
    local sandbox=()
    [ "$(id -u)" -ne 0 ] || sandbox=(--no-sandbox) # Chromium's own needs a user that is not root
    local wanted answer
    wanted=$(gojq -n --args '{capabilities: {alwaysMatch: {browserName: "chrome",
        "goog:loggingPrefs": {browser: "ALL", performance: "ALL"},
        "goog:chromeOptions": {args: $ARGS.positional, perfLoggingPrefs: {enablePage: false}}}}}' -- --headless "${sandbox[@]}" "--user-data-dir=$BROWSER_DIR/data" \
        --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking --disable-component-update \
        --disable-sync --force-color-profile=srgb --lang=en-GB --window-size=1280,900)
    answer=$(curl -sS -m 60 -H 'Content-Type: application/json' -d "$wanted" "$BROWSER_URL/session")
    BROWSER_PID=$(gojq -r '.value.capabilities["goog:processID"] // empty' <<<"$answer")
    BROWSER_SESSION=$BROWSER_URL/session/$(gojq -er '.value.sessionId' <<<"$answer") || { echo "$answer" && return 1; }
}

browser_end() {
    [ -n "${BROWSER_DIR:-}" ] || return 0
    [ -z "${BROWSER_SESSION:-}" ] || curl -s -m 20 -X DELETE -o "$BROWSER_DIR/ended" "$BROWSER_SESSION" || true
    [ -z "${BROWSER_PID:-}" ] || browser_poll 10 browser_process_gone "$BROWSER_PID" || kill -KILL "$BROWSER_PID" || true
    [ -z "${BROWSER_DRIVER:-}" ] || kill -KILL "$BROWSER_DRIVER" 2>/dev/null || true
    browser_poll 10 rm -rf "$BROWSER_DIR" # its last children may still write
    unset BROWSER_DIR BROWSER_SESSION BROWSER_PID BROWSER_DRIVER
}

browser_process_gone() { [ ! -d "/proc/$1" ] || grep -qs '^State:.Z' "/proc/$1/status"; }

# browser_poll SECONDS COMMAND...: until the command succeeds
# As eventually, without its pauses: a browser answers at once.
browser_poll() {
    local deadline=$((SECONDS + $1 * ${FLAGGER_PATIENCE:-1}))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

# browser_ask METHOD PATH [JSON]: the answer's value; an error is printed, and fails
browser_ask() {
    curl -sS -m 60 -X "$1" ${3+-H 'Content-Type: application/json' -d "$3"} "$BROWSER_SESSION/$2" >"$BROWSER_DIR/answer" &&
        gojq -c 'if .value | type == "object" and has("error")
            then "\(.value.error): \(.value.message)\n" | split("\n")[:3] | join("\n") + "\n" | halt_error else .value end' "$BROWSER_DIR/answer"
}

browser_open() { browser_ask POST url "$(gojq -nc --arg url "$1" '{url: $url}')" >/dev/null; }

browser_js() {
    local script=$1
    shift
    browser_ask POST execute/sync "$(gojq -nc --arg script "$script" '{script: $script, args: $ARGS.positional}' --args -- "$@")"
}

# The path of an element in the protocol.
browser_find() {
    local using='css selector'
    [[ $1 != //* ]] || using=xpath
    browser_ask POST element "$(gojq -nc --arg using "$using" --arg value "$1" '{using: $using, value: $value}')" |
        gojq -r '"element/" + .[]'
}

browser_click() {
    local element
    element=$(browser_find "$1") && browser_ask POST "$element/click" '{}' >/dev/null
}

browser_type() {
    local element
    element=$(browser_find "$1") && browser_ask POST "$element/value" "$(gojq -nc --arg text "$2" '{text: $text}')" >/dev/null
}

browser_text() {
    local element
    element=$(browser_find "$1") && browser_ask GET "$element/text" | gojq -r .
}

# browser_keys KEY...: Tab, ShiftTab, Enter, Escape, Space, Down, Up, or a text, to whatever has the focus
browser_keys() {
    browser_ask POST actions "$(gojq -nc '
        {Tab: "\ue004", Enter: "\ue007", Escape: "\ue00c", Space: " ", Down: "\ue015", Up: "\ue013"} as $named
        | def press: [{type: "keyDown", value: .}, {type: "keyUp", value: .}];
        {actions: [{type: "key", id: "keys", actions: [$ARGS.positional[]
            | if . == "ShiftTab" then {type: "keyDown", value: "\ue008"}, ("\ue004" | press[]), {type: "keyUp", value: "\ue008"}
              elif $named[.] then $named[.] | press[]
              else split("")[] | press[] end]}]}' --args -- "$@")" >/dev/null
}

# browser_looks WANTED SECONDS ELEMENT [TEXT]: whether it is to be seen, true or false, as soon as that is as wanted, or after the seconds.
# Visible at all, as a person would say; the text is the rendered one. The page itself looks again and again: to be asked takes it, and us,
# more than to look.
browser_looks() {
    browser_js 'const by = (name) => name.startsWith("//")
            ? document.evaluate(name, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue
            : document.querySelector(name);
        const [wanted, seconds, name, text] = arguments;
        const until = performance.now() + 1000 * seconds;
        return new Promise((resolve) => {
            const look = () => {
                const element = by(name);
                const seen = Boolean(element && element.checkVisibility() && element.innerText.includes(text));
                if (String(seen) === wanted || performance.now() >= until) resolve(seen);
                else setTimeout(look, 50);
            };
            look();
        });' "$1" "$2" "$3" "${4:-}"
}
browser_shows() { [ "$(browser_looks true 0 "$@")" = true ]; }

browser_wait() {
    browser_poll "$1" browser_comes "$2" "${3:-}" && return 0
    echo "not shown within $1 s: $2${3:+ with the text \"$3\"}; the page says:"
    browser_text body | head -n 60
    return 1
}

# For a second; a page that another one follows meanwhile answers with an error.
browser_comes() { [ "$(browser_looks true 1 "$@")" = true ]; }
browser_goes() { [ "$(browser_looks false 1 "$@")" = false ]; }

browser_gone() {
    browser_poll "$1" browser_goes "$2" "${3:-}" || { echo "still shown after $1 s: $2" && return 1; }
}

browser_cdp() { browser_ask POST goog/cdp/execute "$(gojq -nc --arg cmd "$1" --argjson params "$2" '{cmd: $cmd, params: $params}')"; }

browser_theme() {
    browser_cdp Emulation.setEmulatedMedia "$(gojq -nc --arg theme "$1" \
        '{features: [{name: "prefers-color-scheme", value: $theme}, {name: "prefers-reduced-motion", value: "reduce"}]}')" >/dev/null
}

browser_size() {
    browser_cdp Emulation.setDeviceMetricsOverride "{\"width\":$1,\"height\":$2,\"deviceScaleFactor\":1,\"mobile\":false}" >/dev/null
}

browser_screenshot() { browser_ask GET screenshot | gojq -r . | base64 -d >"$1"; }

# Without what Chromium says of its own pages: on a busy machine, that the network is slow.
browser_log() {
    browser_ask POST se/log '{"type":"browser"}' | gojq -c 'map(select(.message | startswith("chrome://") | not))'
}

browser_requests() {
    browser_ask POST se/log '{"type":"performance"}' |
        gojq -r '.[].message | fromjson.message | select(.method == "Network.requestWillBeSent") | .params.request.url'
}
