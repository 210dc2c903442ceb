// Checks test/unsteady.json, the list of the test files that failed in a run and passed alone (`npm test` prints them): each names
// an existing file, once, the day, the first error, and the cause, null while it is not known. A file leaves the list when its
// cause is mended and it has passed 20 rounds of `npm run test:calm`.
import { existsSync, readFileSync } from "node:fs"
import { problemsOf } from "./test/Unsteady.mjs"

const problems = problemsOf(JSON.parse(readFileSync("test/unsteady.json", "utf8")), existsSync)
for (const problem of problems) console.error(`test/unsteady.json: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
