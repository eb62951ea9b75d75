// The page of the fleet: ReleasePlans, each as columns of clusters by wave.
import { live } from "./live.js";
import { clearOne, drawOne } from "./plan.js";
import { planRows, stateWords } from "./plan_words.js";

live({ of: "plans", title: "Release plans", moved: "plans moved", rows: planRows, clearOne, drawOne, stateWords });
