// The release page: Canaries.
import { live } from "./live.js";
import { canaryRows } from "./list.js";
import { clearOne, drawOne } from "./release.js";
import { stateWords } from "./words.js";

live({ of: "canaries", title: "Releases", moved: "releases moved", rows: canaryRows, clearOne, drawOne, stateWords });
