/**
 * The benches. `npm run bench` runs all that are not on demand; `npm run bench -- W1 long-list` runs the named ones;
 * `npm run bench -- W1 W2 W3 --compare <git ref>` measures this build and that commit in turns.
 */
import { backlog } from "./Backlog.js"
import { compareW1, compareW2, compareW3 } from "./Compare.js"
import { connections } from "./Connections.js"
import { consolePages } from "./Console.js"
import { connector } from "./Connector.js"
import { eventPages } from "./EventPages.js"
import { fairness } from "./Fairness.js"
import { flows } from "./Flows.js"
import { largeFlows } from "./LargeFlows.js"
import { garbage } from "./Garbage.js"
import { comparison } from "./Comparison.js"
import { mapping } from "./Mapping.js"
import { nodes } from "./Nodes.js"
import { openConsolesBench } from "./OpenConsoles.js"
import { list, longList, replay, sleep } from "./Growth.js"
import { pauses } from "./Pauses.js"
import { prelude } from "./Prelude.js"
import { allocations } from "./Allocations.js"
import { profileConnector, profileRecords, profileW1, profileW2, profileW3 } from "./Profiles.js"
import { queued } from "./Queued.js"
import { records } from "./Records.js"
import { rewrap } from "./Rewrap.js"
import { rpc } from "./Rpc.js"
import { sandbox } from "./Sandbox.js"
import { triggers } from "./Triggers.js"
import { waiting } from "./Waiting.js"
import { w1 } from "./W1.js"
import { w2 } from "./W2.js"
import { w3 } from "./W3.js"
import { w4 } from "./W4.js"
import { w5 } from "./W5.js"

const benches: Readonly<Record<string, () => Promise<void>>> = {
  W1: w1,
  W2: w2,
  W3: w3,
  W4: w4,
  W5: w5,
  backlog,
  connections,
  connector,
  console: consolePages,
  "open-consoles": openConsolesBench,
  fairness,
  flows,
  "large-flows": largeFlows,
  comparison,
  mapping,
  pauses,
  prelude,
  list,
  sleep,
  replay,
  garbage,
  nodes,
  queued,
  records,
  rewrap,
  rpc,
  sandbox,
  triggers,
  waiting,
  "long-list": longList,
  "long-events": eventPages,
  allocations,
  "profile-W1": profileW1,
  "profile-W2": profileW2,
  "profile-W3": profileW3,
  "profile-connector": profileConnector,
  "profile-records": profileRecords,
  "compare-W1": compareW1,
  "compare-W2": compareW2,
  "compare-W3": compareW3,
  "compare-garbage": garbage,
  "compare-queued": queued
}
/** Benches that run only when they are named: they take minutes and gigabytes of disk, or disturb what they measure. */
const onDemand = new Set([
  "backlog",
  "console",
  "fairness",
  "garbage",
  "large-flows",
  "long-list",
  "long-events",
  "nodes",
  "open-consoles",
  "pauses",
  "rewrap",
  "sandbox",
  "triggers",
  "waiting",
  "allocations",
  "profile-W1",
  "profile-W2",
  "profile-W3",
  "profile-connector",
  "profile-records",
  "compare-W1",
  "compare-W2",
  "compare-W3",
  "compare-garbage",
  "compare-queued"
])

const names = process.argv.slice(2)
const unknown = names.filter((name) => benches[name] === undefined)
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}.`)
  process.exit(2)
}
for (const name of names.length > 0 ? names : Object.keys(benches).filter((name) => !onDemand.has(name)))
  await benches[name]?.()
process.exit()
