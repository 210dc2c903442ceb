export { closedToNarrowedKeys } from "../ClosedScope.js"
