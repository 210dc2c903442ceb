export { closedToNarrowedKeys, countedByRun, listedByRun, reachingRuns, recordOfRun } from "../ClosedScope.js"
