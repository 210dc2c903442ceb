/** W4: `kill -9` of the service in the middle of 1,000 runs of three calls each. Nothing may be lost. */
import { setTimeout as pause } from "node:timers/promises"
import { startStub } from "./support/Children.js"
import { sql } from "./support/Database.js"
import { publish, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { threeCalls } from "./W2.js"

const runs = 1_000
const atOnce = 16

const finished = `SELECT count(*)::int AS n, count(*) FILTER (WHERE status = 'completed')::int AS completed FROM executions`

export const w4 = async (): Promise<void> => {
  const stub = await startStub()
  const service = await startService()
  const { dataDir } = service
  const workflow = await publish(service, "three_calls", threeCalls(stub.url), "standard")
  const accepted = Date.now()
  let left = runs
  const submit = async () => {
    while (left-- > 0) await service.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { name: "you" } })
  }
  const submitting = Promise.all(Array.from({ length: atOnce }, submit))
  await submitting
  const acceptedMillis = Date.now() - accepted
  // Half of all calls, or more if the runs overtake their acceptance.
  while ((await stub.counts()).distinct < (runs * 3) / 2) await pause(2)
  service.child.kill("SIGKILL")
  await service.child.ended
  const atKill = await stub.counts()
  await stub.mark()
  const restarted = Date.now()
  const again = await startService({ dataDir })
  const readyMillis = Date.now() - restarted
  const url = again.admin("svc")
  let done = 0
  for (const until = Date.now() + 120_000; Date.now() < until && done < runs; await pause(20)) {
    const [row] = await sql(url, finished)
    done = Number(row?.["n"])
  }
  const doneMillis = Date.now() - restarted
  const [row] = await sql(url, finished)
  const counts = await stub.counts()
  const completed = Number(row?.["completed"])
  const rows = new Table("", "value", "must")
  rows.add("accepted, runs/s", Math.round((runs * 1000) / acceptedMillis), "")
  rows.add("calls made at the kill", atKill.distinct, "")
  rows.add("lost runs", runs - completed, "0")
  rows.add("calls made twice, under their key", counts.repeated, "in flight only")
  rows.add("... of these answered, their result not committed yet", counts.repeatedAfterAnswer, "")
  rows.add("calls beyond three a run", counts.distinct - runs * 3, "0")
  rows.add("restart to ready, ms", readyMillis, "")
  rows.add("restart to first progress, ms", (counts.firstSinceMark ?? Number.NaN) - restarted, "3000, aim 1000")
  rows.add("restart to all done, ms", doneMillis, "")
  rows.print("W4 kill -9 in the middle of 1,000 runs")
  await again.stop()
  await stub.stop()
}
