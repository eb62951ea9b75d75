# How the gate's web page looks, and what it takes, in a real browser, with a real PostgreSQL.

load_all() {
    load ../lib/daemon
    load ../lib/postgres
    load ../lib/browser
    load ../lib/page
}
setup_file() { load_all && page_file_begin; }
teardown_file() { load_all && page_file_end; }
setup() { load_all && page_begin; }
teardown() { page_end; }

@test "what others wrote is text, whatever it says" {
    evil='<img src=x onerror=window.hacked=1>"'"'"'><script>window.hacked=1<!--&lt;b&gt; שלום '$'\u202e''evil'
    long=$(printf 'x%.0s' $(seq 253))
    sign_in alice
    checks_give 403 "$evil" "$evil"
    checks_give 403 "$long" aaa
    asks alice POST "/v1/gates/test/$long/open" "$(gojq -nc --arg reason "</p></script>$evil" '{reason: $reason}')"
    asks alice POST "/v1/gates/test/$long/close" "$(gojq -nc --arg reason "$evil" '{reason: $reason}')"
    asks alice POST "/v1/gates/test/$long/open" "$(gojq -nc --arg reason "$evil" '{reason: $reason, hook: $reason, for: "1h"}')"
    browser_wait 10 '#waiting-list .name' '<img src=x onerror=window.hacked=1>"'"'"'><script>window.hacked=1<!--&lt;b&gt; שלום \u202eevil'
    browser_wait 10 '#waiting-list .revision' '<script>'
    browser_wait 5 '#gates .reason' '<script>'
    browser_click "$(button "$long" past)"
    browser_wait 5 "$(card "$long")//ol" '</p></script><img src=x onerror'
    browser_click '#waiting-list .approve'
    browser_wait 5 '#act-title' 'Approve revision <img'
    browser_keys Escape
    browser_type '#filter' '<script>'
    [ "$(browser_js 'return [window.hacked === undefined, document.querySelectorAll("img, script:not([src])").length]')" = '[true,0]' ]
    browser_size 320 700
    fits_the_width
}

@test "it fits a screen of 320 pixels" {
    checks_give 403 podinfo 85d557f47b-and-as-long-as-a-checksum-gets
    asks alice POST /v1/gates/test/basket/open '{"for":"30m","reason":"a reason that is somewhat longer than the screen is wide"}'
    asks root-of-all POST /v1/freezes '{"namespace":"another-namespace","reason":"end of the quarter"}'
    browser_size 320 700
    browser_open "$DAEMON_URL/"
    browser_js 'sessionStorage.clear()' >/dev/null
    fits_the_width
    sign_in alice
    browser_wait 5 "$(card podinfo)"
    fits_the_width
    browser_click "$(button basket past)"
    browser_wait 5 "$(card basket)//ol" alice
    fits_the_width
    browser_click "$(button podinfo open)"
    browser_wait 5 '#act'
    [ "$(browser_js 'const d = document.querySelector("#act"); return d.scrollWidth <= d.clientWidth && d.getBoundingClientRect().right <= 320')" = true ]
    browser_keys Escape
    browser_click '#help-button'
    browser_wait 5 '#help' confirm-rollout
    [ "$(browser_js 'const d = document.querySelector("#help"); return d.scrollWidth <= d.clientWidth && d.getBoundingClientRect().right <= 320')" = true ]
}

@test "of hundreds of gates only the one that changed is drawn again" {
    pg_sql "INSERT INTO flagger_gates (kind, namespace, name, open)
        SELECT 'gate', 'ns-' || i % 7, 'app-' || i, i % 3 = 0 FROM generate_series(1, 400) i"
    sign_in alice
    browser_wait 10 '#rest-count' 400
    browser_js 'window.drawn = new Set();
        new MutationObserver((all) => all.forEach(({target}) => {
            const element = target.closest ? target : target.parentElement;
            if (!element.closest("time")) drawn.add(element.closest(".canary")?.querySelector(".name").textContent ?? element.id);
        })).observe(document.querySelector("#gates"), {subtree: true, childList: true, characterData: true, attributes: true})' >/dev/null
    asks bob POST /v1/gates/ns-3/app-17/open '{"reason":"just this one"}'
    browser_wait 10 "$(card app-17)" 'just this one'
    [ "$(browser_js 'return [...drawn]')" = '["app-17"]' ]
    browser_keys /
    [ "$(focused)" = filter ]
    browser_keys 'just this'
    browser_wait 5 '#filter-count' '1 of 400'
    browser_wait 5 "$(card app-17)"
    browser_gone 5 "$(card app-18)"
}

# A page on which everything is to be seen.
everything() {
    asks root-of-all PUT /v1/gates/test/payments/policy '{"quorum":2,"approvers":["alice","bob"],"deadline":"1h","onDeadline":"rollback"}'
    checks_give 403 payments 7c9f6d5b8c gate '?hook=promote'
    asks bob POST /v1/gates/test/payments/approve '{"revision":"7c9f6d5b8c","hook":"promote","reason":"the graphs look good"}'
    checks_give 403 podinfo 85d557f47b
    asks alice POST /v1/gates/test/search/open '{"for":"30m","reason":"the new ranking, all afternoon"}'
    asks alice POST /v1/gates/test/basket/approve '{"revision":"5b7f8c6d4"}'
    asks bob POST /v1/gates/test/mailer/approve '{"kind":"rollback","revision":"6b5c4d3f2","reason":"error rate has doubled"}'
    asks bob POST /v1/gates/prod/ledger/close '{}'
    asks root-of-all POST /v1/freezes '{"namespace":"prod","reason":"end of the quarter"}'
} >"$BATS_TEST_TMPDIR/everything"

contrast_is_enough() {
    local found
    found=$(browser_js "$(<"$BATS_TEST_DIRNAME/../lib/contrast.js")")
    gojq -e 'length == 1 and .[0] > 3' <<<"$found" >/dev/null || { echo "$1: $found" && return 1; }
}

@test "every text has a contrast of at least 4.5 in both themes" {
    everything
    for theme in light dark; do
        browser_theme "$theme"
        browser_open "$DAEMON_URL/"
        browser_js 'sessionStorage.clear()' >/dev/null
        browser_open "$DAEMON_URL/"
        browser_wait 10 '#sign-in'
        browser_keys wrong-token Enter
        browser_wait 5 '#sign-in-error' token
        contrast_is_enough "$theme, sign in"
        sign_in alice
        browser_wait 5 "$(card mailer)"
        browser_click "$(button mailer past)"
        browser_wait 5 "$(card mailer)//ol" bob
        browser_js 'document.querySelector("#stale").hidden = document.querySelector("#database").hidden = false;
            for (const e of document.querySelectorAll(".outcome")) e.textContent = "Done."' >/dev/null
        contrast_is_enough "$theme, gates"
        browser_click "$(button podinfo rollback)"
        browser_wait 5 '#act'
        browser_js 'document.querySelector("#act-error").textContent = "It is not."' >/dev/null
        contrast_is_enough "$theme, a dialog"
        browser_keys Escape
        browser_click '#help-button'
        browser_wait 5 '#help'
        contrast_is_enough "$theme, help"
    done
    # The measure itself: what is too faint is found.
    browser_js 'document.querySelector("#help p").style.color = "#555"' >/dev/null
    refute contrast_is_enough 'too faint' >/dev/null
}

# picture FILE: {width, height, mean, deviation} of its luminance, 0 to 255
picture() {
    browser_open about:blank
    gojq -n --rawfile picture <(base64 -w 0 "$1") '{args: [$picture], script: "
        return (async () => {
            const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${arguments[0]}`)).blob());
            const canvas = new OffscreenCanvas(image.width, image.height).getContext(`2d`);
            canvas.drawImage(image, 0, 0);
            const { data } = canvas.getImageData(0, 0, image.width, image.height);
            let sum = 0, squares = 0;
            for (let i = 0; i < data.length; i += 4) {
                const y = 0.2126 * data[i] + 0.7152 * data[i + 1] + 0.0722 * data[i + 2];
                sum += y;
                squares += y * y;
            }
            const n = data.length / 4, mean = sum / n;
            return { width: image.width, height: image.height, mean, deviation: Math.sqrt(squares / n - mean * mean) };
        })()"}' >"$BATS_TEST_TMPDIR/script"
    browser_ask POST execute/sync "@$BATS_TEST_TMPDIR/script"
}

@test "screenshots of both themes, at a desk and on a phone" {
    everything
    shots=$FLAGGER_BUILD/screenshots
    mkdir -p "$shots"
    for screen in desk:1280:900 phone:390:844; do
        IFS=: read -r name width height <<<"$screen"
        for theme in light dark; do
            browser_theme "$theme"
            browser_size "$width" "$height"
            sign_in alice
            browser_wait 5 "$(card mailer)"
            browser_screenshot "$shots/gates-$name-$theme.png"
            [ "$theme" = light ] && wanted='.mean > 200' || wanted='.mean < 60'
            picture "$shots/gates-$name-$theme.png" | tee "$BATS_TEST_TMPDIR/picture" |
                gojq -e --argjson width "$width" --argjson height "$height" \
                    ".width == \$width and .height == \$height and $wanted and .deviation > 8" ||
                { cat "$BATS_TEST_TMPDIR/picture" && return 1; }
        done
    done
}
