# Of two CRDs, one after the other (gojq -s): what an object may be under the first and not under the second, a line each.
# A pattern that takes all that the former one took: one more alternative at its end.
def widens($old; $new): ($old | startswith("^(") and endswith(")$")) and ($new | startswith(($old | rtrimstr(")$")) + "|") and endswith(")$"));
def stricter($old; $new; $at):
    def no($what): "\($at): \($what)";
    if $new == null then no("is not there any more")
    elif $new["x-kubernetes-preserve-unknown-fields"] and ($new.properties | not) then empty
    else
        (if ($old.type // "any") != ($new.type // "any") and ($new.type or ($new["x-kubernetes-int-or-string"] | not)) and $new.type != null and [$old.type, $new.type] != ["integer", "number"] then no("type \($old.type), then \($new.type)") else empty end),
        (if $new.enum and (($old.enum // ["anything"]) - $new.enum) != [] then no("values \($old.enum // "any"), then \($new.enum)") else empty end),
        (if ($new.required // []) - ($old.required // []) != [] then no("requires \(($new.required // []) - ($old.required // []))") else empty end),
        (("minimum", "minLength", "minItems", "minProperties") as $k | if $new[$k] != null and ($old[$k] == null or $old[$k] < $new[$k]) then no("\($k) \($old[$k] // "none"), then \($new[$k])") else empty end),
        (("maximum", "maxLength", "maxItems", "maxProperties") as $k | if $new[$k] != null and ($old[$k] == null or $old[$k] > $new[$k]) then no("\($k) \($old[$k] // "none"), then \($new[$k])") else empty end),
        (if $new.pattern and $new.pattern != $old.pattern and (widens($old.pattern // ""; $new.pattern) | not) then no("pattern \($old.pattern // "none"), then \($new.pattern)") else empty end),
        (if ($new["x-kubernetes-validations"] // [] | map(.rule)) - ($old["x-kubernetes-validations"] // [] | map(.rule)) != [] then no("has a rule more") else empty end),
        (if $old["x-kubernetes-preserve-unknown-fields"] and ($new["x-kubernetes-preserve-unknown-fields"] | not) then no("drops unknown fields") else empty end),
        (($old.properties // {}) | keys[] as $k | stricter($old.properties[$k]; ($new.properties // {})[$k] // (if $new["x-kubernetes-preserve-unknown-fields"] then {"x-kubernetes-preserve-unknown-fields": true} else $new.additionalProperties end); "\($at).\($k)")),
        (if $old.items then stricter($old.items; $new.items; "\($at)[]") else empty end),
        (if $old.additionalProperties | type == "object" then stricter($old.additionalProperties; $new.additionalProperties // null; "\($at).*") else empty end)
    end;
.[0] as $old | .[1] as $new
| $old.spec.versions[] | select(.served) as $was | (first($new.spec.versions[] | select(.name == $was.name and .served)) // null) as $is
| if $is == null then "\($was.name) is not served any more" else stricter($was.schema.openAPIV3Schema; $is.schema.openAPIV3Schema; "") end
