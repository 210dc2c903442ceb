export { closedToNarrowedKeys, countedByRun, listedByRun, recordOfRun } from "../ClosedScope.js"
