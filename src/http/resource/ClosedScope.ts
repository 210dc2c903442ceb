export { closedToNarrowedKeys, listedByRun } from "../ClosedScope.js"
