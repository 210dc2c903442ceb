/**
 * The delays and the memory of attacks (`attacks.ts`), beside their bounds. `SVC_TEST_LONG=1` has the goals on a quiet machine: no
 * request delays `/healthz` by more than 250 ms, neighbours keep a p99 of three times theirs, and no attack takes more than 128 MB.
 */
import { type AttackFigures, judgeAttacks } from "./attacks.js"
import { assertFigure } from "./figures.js"
import { assertWithin, paced } from "./pace.js"
import { isLong } from "./longForm.js"

/** The defects that the short form prevents took seconds to minutes. */
const mostDelay = isLong ? 250 : 1_500
const mostMebibytes = isLong ? 128 : 400

const judge = ({ leastRuns, mebibytes, most = mostMebibytes, probe, quiet }: AttackFigures) => {
  assertWithin(probe.worst, mostDelay, "the slowest answer of /healthz")
  assertFigure({ of: "memory", value: mebibytes, bound: most, unit: "MB" })
  if (isLong)
    assertFigure({ of: "p99 of neighbours", value: probe.p99, bound: Math.max(3 * quiet.p99, 100), unit: "ms" })
  // A bound from below: how many times too few.
  const few = leastRuns / Math.max(probe.runs, 0.1)
  assertFigure({ of: "runs of neighbours too few", value: few, bound: 1.001 * paced(1), unit: "times" })
}

judgeAttacks({
  judge,
  judgePolls: ({ due, made }) => assertFigure({ of: "polls left out", value: due - made, bound: 1, unit: "times" })
})
