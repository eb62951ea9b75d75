# Reading the reports of hey.

# hey_answers FILE: the lines "[CODE] N responses" and "[N] ERROR" that end a report. Its histogram has counts in brackets as well,
# and a count may be 403 or 500.
hey_answers() {
    sed -n '/^\(Status code\|Error\) distribution/,$ { /^ *\[[0-9]*\]/p }' "$1"
}

# hey_failures FILE: of them those that are no 200
hey_failures() { hey_answers "$1" | sed '/^ *\[200\].*responses/d'; }
